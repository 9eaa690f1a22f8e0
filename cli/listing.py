"""The commands in groups by purpose, and the examples that their help shows."""

from __future__ import annotations

from collections.abc import Mapping

# In the order of `tracehouse --help`; the commands of the first group are all that most people use.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Commands": (
        *("demo", "ingest", "ls", "compare", "report", "query", "sql", "inspect", "export"),
        *("serve", "upload", "status"),
    ),
    "Upkeep": ("store", "lake", "doctor"),
    "Decide and explain": ("explain", "accept", "note", "plan", "bisect-step"),
    "Record and look closer": ("record", "watch", "numeric-gap", "etrecord", "schema"),
    "Connect": ("token", "mcp", "spark", "completion"),
    "Samples": ("sample",),
}
NAMES = frozenset(name for names in GROUPS.values() for name in names)
# By the words of a command, also of one below another.
EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "demo": ("tracehouse demo",),
    "ls": ("tracehouse ls", "tracehouse ls builds --device pixel8"),
    "ingest": (
        "tracehouse ingest farm/ --layout '{device}/{build}/{model}/*.etdp'",
        "tracehouse ingest run.etdp --device pixel8 --build b42 --model mv2",
    ),
    "watch": (
        "tracehouse watch dumps/ --layout '{device}/{build}/{model}/*.etdp'",
        "tracehouse watch s3://farm/dumps --url http://127.0.0.1:8080 --once",
    ),
    "upload": ("tracehouse upload farm/ --url http://127.0.0.1:8080",),
    "record": (
        "tracehouse record mv2.pte --device lab1 --build b42 --iterations 100",
        "tracehouse record new.pte --against old.pte --model mv2 --device lab1 --build b42",
    ),
    "query": ("tracehouse query percentiles --model mv2", "tracehouse query percentiles --help"),
    "sql": (
        'tracehouse sql "SELECT device, count(*) AS n FROM named_dumps GROUP BY device"',
        "tracehouse sql - --format parquet --output slow.parquet < slow.sql",
    ),
    "schema": ("tracehouse schema named_events",),
    "mcp": ("tracehouse mcp --store farm.store",),
    "inspect": (
        "tracehouse inspect run.etdp --etrecord run.etrecord",
        "tracehouse inspect farm.zip!run.etdp --format json --output run.json",
        "tracehouse inspect run.prof --source-time-scale us",
    ),
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
    "compare": (
        "tracehouse compare b41 b42",
        "tracehouse compare b41 b42 --pool lab --format json",
    ),
    "report": (
        "tracehouse report --output report.html",
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
    "serve": ("tracehouse serve --store farm.store --port 8080",),
    "token": (
        "tracehouse token create lab --scope ingest --pool lab --expires 90",
        "tracehouse token revoke lab",
    ),
    "status": ("tracehouse status --format json",),
    "store": (
        "tracehouse store verify --store farm.store",
        "tracehouse store retention --raw-days 90 --yes",
    ),
    "store snapshot": ("tracehouse store snapshot --store farm.store",),
    "store archive": (
        "tracehouse store archive verify",
        "tracehouse store archive get 1f3a9c0e --output run.etdp",
    ),
    "store drain": ("tracehouse store drain --store farm.store",),
    "store verify": (
        "tracehouse store verify --store farm.store",
        "tracehouse store verify --all --since 2026-11-01",
    ),
    "store rebuild": ("tracehouse store rebuild --store farm.store",),
    "store amend": (
        "tracehouse store amend --where device=pixel8,build=b1 --set build=b42",
        "tracehouse store amend --dump 1f3a9c0e --set device.os=Android --yes",
    ),
    "store retention": (
        "tracehouse store retention --raw-days 90 --keep-builds 'v*' --yes",
        "tracehouse store retention --raw-days 90 --url http://127.0.0.1:8080",
    ),
    "store compact": ("tracehouse store compact --store farm.store",),
    "store forget": (
        "tracehouse store forget --device pixel8",
        "tracehouse store forget --dump 1f3a9c0e --yes",
    ),
    "store migrate": ("tracehouse store migrate --store old.store",),
    "lake": ("tracehouse lake verify s3://farm/lake", "tracehouse lake compact s3://farm/lake"),
    "spark": (
        "tracehouse spark ingest s3://farm/dumps s3://farm/lake",
        "tracehouse spark watch dumps/ lake/ --once",
        "tracehouse spark query percentiles --model mv2 --lake s3://farm/lake",
    ),
    "sample": ("tracehouse sample farm/",),
    "doctor": ("tracehouse doctor --format json",),
    "completion": ("tracehouse completion bash >> ~/.bashrc",),
}
