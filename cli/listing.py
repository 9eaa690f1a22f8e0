"""The commands in groups by purpose, each with the examples that its help shows."""

from __future__ import annotations

from collections.abc import Mapping

# In the order of `tracehouse --help`.
GROUPS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "Ingest": {
        "ingest": (
            "tracehouse ingest farm/ --layout '{device}/{build}/{model}/*.etdp'",
            "tracehouse ingest run.etdp --device pixel8 --build b42 --model mv2",
        ),
        "watch": (
            "tracehouse watch dumps/ --layout '{device}/{build}/{model}/*.etdp'",
            "tracehouse watch s3://farm/dumps --url http://127.0.0.1:8080 --once",
        ),
        "upload": ("tracehouse upload farm/ --url http://127.0.0.1:8080",),
        "drain": ("tracehouse drain --store farm.store",),
        "record": (
            "tracehouse record mv2.pte --device lab1 --build b42 --iterations 100",
            "tracehouse record new.pte --against old.pte --model mv2 --device lab1 --build b42",
        ),
    },
    "Ask": {
        "ls": ("tracehouse ls", "tracehouse ls builds --device pixel8"),
        "query": (
            "tracehouse query percentiles --model mv2",
            "tracehouse query percentiles --help",
        ),
        "sql": (
            'tracehouse sql "SELECT device, count(*) AS n FROM named_dumps GROUP BY device"',
            "tracehouse sql - --format parquet --output slow.parquet < slow.sql",
        ),
        "schema": ("tracehouse schema named_events",),
        "mcp": ("tracehouse mcp --store farm.store",),
        "inspect": (
            "tracehouse inspect run.etdp --etrecord run.etrecord",
            "tracehouse inspect farm.zip!run.etdp --format json --output run.json",
        ),
        "inspect-prof": ("tracehouse inspect-prof prof.bin --time-scale us",),
        "etrecord": (
            "tracehouse etrecord show model.etrecord --method forward",
            "tracehouse etrecord diff old.pte new.pte",
        ),
        "numeric-gap": (
            "tracehouse numeric-gap cpu.etdp npu.etdp --metric snr",
            "tracehouse numeric-gap 12 57 --first",
        ),
        "export": (
            "tracehouse export lake s3://farm/lake --store farm.store",
            "tracehouse export trace run.etdp --run median -o trace.json",
        ),
    },
    "Judge": {
        "compare": (
            "tracehouse compare b41 b42",
            "tracehouse compare b41 b42 --pool lab --format json",
        ),
        "report": (
            "tracehouse report --nightly --output report.html",
            "tracehouse report --base b41 --head b42 --format markdown --fail-on-regression",
        ),
        "explain": (
            "tracehouse explain 3f9c2a7d1e0b",
            "tracehouse explain 3f9c2a7d1e0b --output why.html",
        ),
        "accept": ("tracehouse accept 3f9c2a7d1e0b --reason 'more accurate, worth it'",),
        "note": (
            "tracehouse note 'driver update' --on build=b42,device=pixel8",
            "tracehouse note --withdraw 5d1c0e9f7a2b",
        ),
        "bisect-step": ("tracehouse bisect-step 3f9c2a7d1e0b --head b42 --build b40",),
        "plan": ("tracehouse plan --change 5% --device 'pixel*'",),
    },
    "Serve": {
        "serve": ("tracehouse serve --store farm.store --port 8080",),
        "token": (
            "tracehouse token create lab --scope ingest --pool lab --expires 90",
            "tracehouse token revoke lab",
        ),
    },
    "Keep": {
        "status": ("tracehouse status --format json",),
        "snapshot": ("tracehouse snapshot --store farm.store",),
        "archive": (
            "tracehouse archive verify",
            "tracehouse archive get 1f3a9c0e --output run.etdp",
        ),
        "verify": (
            "tracehouse verify --store farm.store",
            "tracehouse verify --all --since 2026-11-01",
        ),
        "rebuild": (
            "tracehouse rebuild --store farm.store",
            "tracehouse rebuild --dumps 1f3a9c0e --url http://127.0.0.1:8080",
        ),
        "amend": (
            "tracehouse amend --where device=pixel8,build=b1 --set build=b42",
            "tracehouse amend --dump 1f3a9c0e --set device.os=Android --yes",
        ),
        "retention": (
            "tracehouse retention --raw-days 90 --keep-builds 'v*' --yes",
            "tracehouse retention --raw-days 90 --url http://127.0.0.1:8080",
        ),
        "compact": ("tracehouse compact --store farm.store",),
        "forget": ("tracehouse forget --device pixel8", "tracehouse forget --dump 1f3a9c0e --yes"),
        "migrate": ("tracehouse migrate --store old.store",),
        "lake": ("tracehouse lake verify s3://farm/lake", "tracehouse lake compact s3://farm/lake"),
    },
    "More": {
        "spark": (
            "tracehouse spark ingest s3://farm/dumps s3://farm/lake",
            "tracehouse spark watch dumps/ lake/ --once",
            "tracehouse spark query percentiles --model mv2 --lake s3://farm/lake",
        ),
        "demo": ("tracehouse demo",),
        "sample": ("tracehouse sample farm/",),
        "simulate": ("tracehouse simulate farm/ --devices 3 --builds 5",),
        "doctor": ("tracehouse doctor --format json",),
        "completion": ("tracehouse completion bash >> ~/.bashrc",),
    },
}
EXAMPLES: Mapping[str, tuple[str, ...]] = {
    name: examples for group in GROUPS.values() for name, examples in group.items()
}
