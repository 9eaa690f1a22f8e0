"""What deploy/ ships beside the service fits it: Prometheus, Grafana and the compose file."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pyarrow as pa
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.support.documents import ROOT
from tests.support.nightly_farm import nightly_store
from tests.support.reports import report
from tests.support.service import serving
from tests.support.service_process import ServiceProcess
from tests.support.waiting import until
from tracehouse import Warehouse
from tracehouse.cli.serve.access.tokens import TokenScope, create_token
from tracehouse.cli.serve.answers.fleet_metrics import FleetMetrics
from tracehouse.cli.serve.app import list_routes
from tracehouse.cli.serve.http.endpoints import Endpoint
from tracehouse.queries.report.nightly import LastNight, NightKey, read_night
from tracehouse.queries.report.settings import Settings

DEPLOY = ROOT / "deploy"
PROMETHEUS, GRAFANA = DEPLOY / "prometheus", DEPLOY / "grafana"
DASHBOARD = json.loads((GRAFANA / "dashboards" / "tracehouse.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = [target["expr"] for panel in PANELS for target in panel["targets"]]
OF_PROMETHEUS = {"up", "ALERTS"}
WORDS = {"and", "or", "unless", "by", "on", "offset", "group_left"}

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is missing: apt-get install prometheus"
)


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def promtool(*args: str | Path) -> None:
    """Let promtool check a file; what it finds wrong is in the failure."""
    asked = ["promtool", *map(str, args)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def as_rules(expressions: Mapping[str, str]) -> str:
    """A file of rules that record the expressions of the dashboard, as Grafana sends them."""
    rules = [
        {"record": name, "expr": filled_in(expression)} for name, expression in expressions.items()
    ]
    return json.dumps({"groups": [{"name": "dashboard", "rules": rules}]})


def filled_in(expression: str) -> str:
    """An expression of the dashboard with all chosen."""
    return re.sub(r"\$\w+", ".*", expression.replace("$__rate_interval", "5m"))


def names_in(expression: str) -> set[str]:
    """The metrics that an expression names."""
    bare = re.sub(r'"[^"]*"|\{[^}]*\}|\[[^]]*\]|\b(by|on) \([^)]*\)', " ", filled_in(expression))
    return set(re.findall(r"\b([a-zA-Z_:]\w*)\b(?! *\()", bare)) - WORDS


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The metrics of /metrics and /metrics/fleet."""
    key = NightKey("b1", "", "")
    builds = pa.table({"build": []})
    fleet = FleetMetrics(builds, builds, LastNight(key, report(), datetime.now(UTC)))
    names = {family.name for family in fleet.collect()}
    with serving(tmp_path_factory.mktemp("store")) as client:
        for family in text_string_to_metric_families(client.get("/metrics").text):
            names |= set(samples_of(family.name, family.type))
    return names


def samples_of(name: str, type_: str) -> Iterator[str]:
    suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}
    yield from (name + suffix for suffix in suffixes.get(type_, [""]))


@needs_promtool
def test_prometheus_takes_the_configuration_and_alerts_as_the_rules_say(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(PROMETHEUS, tmp_path / "prometheus", dirs_exist_ok=True))
    (folder / "token").write_text("tracehouse_secret")
    promtool("check", "config", folder / "prometheus.yml")
    promtool("check", "rules", folder / "rules.yml")
    promtool("test", "rules", folder / "rules_test.yml")


def test_rules_and_dashboard_name_only_what_the_service_exports(exported: set[str]) -> None:
    rules = [rule["expr"] for group in load(PROMETHEUS / "rules.yml")["groups"]
             for rule in group["rules"]]  # fmt: skip
    assert len(rules) > 10
    for expression in [*rules, *EXPRESSIONS]:
        named = names_in(expression)
        assert named, expression
        assert named <= exported | OF_PROMETHEUS, expression
    for one in DASHBOARD["templating"]["list"]:
        metric, label = re.fullmatch(
            r"label_values\((\w+), (\w+)\)", one["query"]["query"]
        ).groups()
        assert metric in exported
        assert label == one["name"]


@needs_promtool
def test_every_expression_of_the_dashboard_parses(tmp_path: Path) -> None:
    numbered = {f"panel:{number}": one for number, one in enumerate(EXPRESSIONS)}
    (tmp_path / "rules.yml").write_text(as_rules(numbered))
    promtool("check", "rules", tmp_path / "rules.yml")


@needs_promtool
def test_newest_build_is_compared_with_the_one_before_in_the_order_of_builds(
    tmp_path: Path,
) -> None:
    (change,) = (one for one in EXPRESSIONS if "topk" in one)
    (tmp_path / "rules.yml").write_text(as_rules({"change": change}))
    place = 'instance="i", device="phone", model="net", backend="", run="forward"'
    series = {
        **{f'tracehouse_fleet_run_seconds{{{place}, build="{build}", quantile="{share}"}}': value
           for build, value in (("b10", "1.5x9"), ("b9", "1x9"), ("b8", "7x9"))
           for share in ("0.5", "0.9")},
        **{f'tracehouse_fleet_build_position{{instance="i", build="b{number}"}}': f"{number}x9"
           for number in (8, 9, 10)},
    }  # fmt: skip
    sample = {"labels": f"change{{{place}}}".replace('backend="", ', ""), "value": 0.5}
    expected = {"expr": "change", "eval_time": "5m", "exp_samples": [sample]}
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": value} for name, value in series.items()],
        "promql_expr_test": [expected],
    }
    (tmp_path / "test.yml").write_text(json.dumps({"rule_files": ["rules.yml"], "tests": [test]}))
    promtool("test", "rules", tmp_path / "test.yml")


@pytest.mark.slow
@needs_promtool
def test_prometheus_scrapes_a_service_and_answers_what_the_dashboard_asks(tmp_path: Path) -> None:
    store = Path(shutil.copytree(nightly_store(), tmp_path / "store"))
    with Warehouse.open(store) as warehouse:
        warehouse.keep_night(read_night(warehouse, Settings(), None).packed())
    folder = Path(shutil.copytree(PROMETHEUS, tmp_path / "prometheus", dirs_exist_ok=True))
    (folder / "token").write_text(create_token(store, "prometheus", scopes=[TokenScope.READ]))
    steady = [one for one in EXPRESSIONS if "rate(" not in one]
    with ServiceProcess(store) as service, running_prometheus(folder, service.port) as ask:
        until(lambda: all(map(ask, steady)))
        assert len(ask('up{job=~"tracehouse.*"} == 1')) == 2
        (firing,) = ask('ALERTS{alertstate="firing"}')
        assert firing["metric"]["alertname"] == "TracehouseRegressions"


@contextmanager
def running_prometheus(folder: Path, port: int) -> Iterator[Callable[[str], list[Any]]]:
    """Prometheus with the configuration of a folder, which scrapes a port every second.

    The answers of the function are empty until Prometheus listens.
    """
    config = (folder / "prometheus.yml").read_text().replace("tracehouse:8080", f"127.0.0.1:{port}")
    (folder / "prometheus.yml").write_text(re.sub(r"\b\d+[sm]\b", "1s", config))
    with socket.create_server(("127.0.0.1", 0)) as free:
        own = f"127.0.0.1:{free.getsockname()[1]}"

    def ask(expression: str) -> list[Any]:
        query = urlencode({"query": filled_in(expression)})
        try:
            with urlopen(f"http://{own}/api/v1/query?{query}") as answer:
                found: list[Any] = json.load(answer)["data"]["result"]
                return found
        except URLError:
            return []

    command = [
        "prometheus",
        "--config.file=prometheus.yml",
        f"--web.listen-address={own}",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stderr=log, stdout=log)
        try:
            yield ask
        finally:
            process.kill()
            process.wait()


def test_panels_use_the_data_source_and_the_variables_that_there_are() -> None:
    (source,) = load(GRAFANA / "provisioning" / "datasources" / "prometheus.yaml")["datasources"]
    variables = {one["name"] for one in DASHBOARD["templating"]["list"]} | {"__rate_interval"}
    assert set(re.findall(r"\$(\w+)", " ".join(EXPRESSIONS))) == variables
    wanted = {"type": source["type"], "uid": source["uid"]}
    parts = [*DASHBOARD["templating"]["list"], *PANELS]
    parts += [target for panel in PANELS for target in panel["targets"]]
    assert all(part["datasource"] == wanted for part in parts)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_compose_file_mounts_what_there_is_where_it_is_looked_for() -> None:
    services = load(DEPLOY / "compose.yaml")["services"]
    mounts = [volume.split(":") for one in services.values() for volume in one["volumes"]]
    inside = {host: place for host, place, *_ in mounts}
    shipped = [host for host in inside if host.startswith(".") and not host.endswith("/token")]
    assert [host for host in shipped if not (DEPLOY / host).exists()] == []
    assert (DEPLOY / services["tracehouse"]["build"]["context"] / "Dockerfile").exists()
    config = load(PROMETHEUS / "prometheus.yml")
    files = [*config["rule_files"], *(one["authorization"]["credentials_file"]
             for one in config["scrape_configs"])]  # fmt: skip
    assert {f"/etc/prometheus/{name}" for name in files} <= set(inside.values())
    (provider,) = load(GRAFANA / "provisioning" / "dashboards" / "tracehouse.yaml")["providers"]
    assert provider["options"]["path"] == inside["./grafana/dashboards"]
    assert inside["./grafana/provisioning"] == "/etc/grafana/provisioning"


def test_compose_file_prometheus_and_grafana_agree_on_names_and_ports() -> None:
    services = load(DEPLOY / "compose.yaml")["services"]
    ports = {name: one["ports"][0].rpartition(":")[2] for name, one in services.items()}
    config = load(PROMETHEUS / "prometheus.yml")
    targets = {target for one in config["scrape_configs"] for part in one["static_configs"]
               for target in part["targets"]}  # fmt: skip
    assert targets == {f"tracehouse:{ports['tracehouse']}"}
    assert f'"--port", "{ports["tracehouse"]}"' in (ROOT / "Dockerfile").read_text()
    paths = {one.get("metrics_path", "/metrics") for one in config["scrape_configs"]}
    assert paths <= {route.path for route in list_routes() if isinstance(route, Endpoint)}
    (source,) = load(GRAFANA / "provisioning" / "datasources" / "prometheus.yaml")["datasources"]
    assert source["url"] == f"http://prometheus:{ports['prometheus']}"
    assert services["tracehouse"]["volumes"][0].partition(":")[2] in (
        re.findall(r"^VOLUME (.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    )
