"""A report's page in real headless Chromium: `make test-browser`."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.support.browser import DESK, PHONE
from tests.support.reports import coverage, full_report, large_report, named_report, report
from tests.support.strange_names import LONG_NAME, NAMES
from tracehouse.queries.report.html import html_text

HOSTILE = (
    "<script>document.title = 'taken'</script>", '"><img src=x onerror="document.title=1">',
    "</title></svg><script>document.title = 'taken'</script>", "x" * 5_000, *NAMES, LONG_NAME,
)  # fmt: skip
# Every text's colour against the first opaque background behind it, as WCAG reckons contrast.
CONTRASTS = """(() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = color => color.slice(0, 3).map(c => c / 255).map(
    c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  ).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const color = parse(getComputedStyle(element).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const found = [...document.querySelectorAll('body *')].filter(element =>
    [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())
      && element.checkVisibility() && element.tagName !== 'title');
  return found.map(element => {
    const style = getComputedStyle(element), isDrawn = element.closest('svg');
    const text = light(parse(isDrawn ? style.fill : style.color)), page = light(behind(element));
    const ratio = (Math.max(text, page) + 0.05) / (Math.min(text, page) + 0.05);
    return [ratio, element.outerHTML.slice(0, 80)];
  }).filter(pair => pair[0] < 4.5);
})()"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    reports = {"full": full_report(), "large": large_report(), "named": named_report(HOSTILE)}
    for name, one in reports.items():
        (folder / f"{name}.html").write_text(html_text(one), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["full", "large", "named"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_page_fits_complains_of_nothing_and_loads_nothing(page, pages, name, width) -> None:
    path = pages / f"{name}.html"
    page.show(path, width=width)
    assert page.complaints() == []
    assert page.requests() == [path.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_page_shows_the_verdict_the_alerts_and_their_plots(page, pages) -> None:
    page.show(pages / "full.html", width=DESK)
    text = page.evaluate("document.body.innerText")
    for part in ("2 causes made operators slower", "+76.88 µs", "b40", "watch2 · kws"):
        assert part in text
    sizes = page.evaluate(
        "[...document.querySelectorAll('article:first-of-type :is(.iv, .spark, figure svg)')]"
        ".map(svg => svg.getBoundingClientRect()).map(box => [box.width, box.height])"
    )
    assert all(width > 80 and height > 10 for width, height in sizes[:4])


def test_hostile_names_add_no_markup_to_the_report_page(page, pages) -> None:
    page.show(pages / "named.html", width=DESK)
    assert page.evaluate("document.title").startswith(HOSTILE[0])
    assert page.evaluate("document.querySelectorAll('script, img, [onerror]').length") == 0


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_every_text_stands_out_from_what_is_behind_it(page, pages, is_dark) -> None:
    page.show(pages / "full.html", width=DESK, is_dark=is_dark)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert page.evaluate(CONTRASTS) == []


def test_dark_mode_is_dark_and_paper_is_not(page, pages) -> None:
    lights = {}
    for name, is_dark, media in (
        ("light", False, ""),
        ("dark", True, ""),
        ("paper", True, "print"),
    ):
        page.show(pages / "full.html", width=DESK, is_dark=is_dark, media=media)
        color = page.evaluate("getComputedStyle(document.body).backgroundColor")
        lights[name] = sum(map(int, color[4:-1].split(",")))
        lights[name + " picture"] = hashlib.sha256(page.screenshot()).hexdigest()
    assert lights["light"] > 700
    assert lights["dark"] < 100
    assert lights["paper"] == 3 * 255
    assert lights["light picture"] != lights["dark picture"]


def test_a_long_table_has_parts_and_no_scroll_bar(page, tmp_path) -> None:
    place = tmp_path / "long.html"
    long = coverage(too_few=[f"row {number}" for number in range(120)])
    place.write_text(html_text(report(coverage=long)), encoding="utf-8")
    for width in (390, 1920):
        page.show(place, width=width)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate("document.querySelectorAll('.more:not([open])').length") == 3
        assert page.evaluate(
            "[...document.querySelectorAll('.scroll')]"
            ".every(one => one.scrollHeight <= one.clientHeight + 1)"
        )


def test_paper_has_what_is_folded(page, pages) -> None:
    page.show(pages / "full.html", width=DESK)
    folded = page.evaluate("document.documentElement.scrollHeight")
    page.show(pages / "full.html", width=DESK, media="print")
    assert page.evaluate("document.documentElement.scrollHeight") > folded + 500


def test_a_screen_reader_hears_plots_tables_and_headings(page, pages) -> None:
    page.show(pages / "full.html", width=DESK)
    images = page.names("image")
    assert any("base 40 dumps, median 1.240 ms" in name for name in images)
    assert any(name.startswith("History over 14 builds") for name in images)
    assert "" not in images
    assert any(name.startswith("Changes of ") for name in page.names("table"))
    assert page.names("heading")[0].startswith("2 causes made operators slower")
    assert page.names("heading")[1].startswith("Act on these")
    assert "mobilenet_v2 on pixel8 and 7 more devices" in page.names("heading")


def test_values_show_on_hover_without_a_script(page, pages) -> None:
    page.show(pages / "full.html", width=DESK)
    place = "const at = document.querySelector('.history .at:nth-of-type(6)')"
    shown = (
        f"(() => {{ {place}; return getComputedStyle(at.querySelector('.values')).visibility }})()"
    )
    box = f"""(() => {{ {place}; at.scrollIntoView({{block: 'center', behavior: 'instant'}});
        const box = at.querySelector('.hit').getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2] }})()"""
    x, y = page.evaluate(box)
    assert page.evaluate(shown) == "hidden"
    page.hover(x, y)
    assert page.evaluate(shown) == "visible"
    texts = page.evaluate("[...document.querySelectorAll('.values')].map(one => one.textContent)")
    assert "b33: no data, 0 dumps" in texts
