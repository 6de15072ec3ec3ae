"""The page is whole, asks for nothing, and shows hostile texts without letting them act."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode

from refinery.api import Run
from refinery.inspect.report.page import SECTIONS, page, report
from tests.inspect.report.conftest import EVIL, HOSTILE
from tests.runs import refine

# Elements that the templates and pictures use; anything else came from somebody's text.
ELEMENTS = {
    "html", "head", "meta", "title", "style", "body", "a", "header", "nav", "main", "section", "article", "footer", "h1", "h2",
    "h3", "p", "strong", "b", "i", "span", "ul", "ol", "li", "dl", "dt", "dd", "div", "time", "figure", "figcaption", "details",
    "summary", "pre", "table", "caption", "thead", "tbody", "tr", "th", "td", "del", "ins",
    "svg", "desc", "text", "rect", "line",
}  # fmt: skip
VOID = {"meta"}


class Strict(HTMLParser):
    """Every element with its attributes; each must be closed where it was opened."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> in {self.open}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)


def read(text: str) -> Strict:
    parser = Strict()
    parser.feed(text)
    parser.close()
    assert not parser.open
    return parser


@pytest.fixture(scope="module")
def strict(hostile_page: str) -> Strict:
    return read(hostile_page)


@pytest.fixture(scope="module")
def tree(hostile_page: str) -> LexborHTMLParser:
    return LexborHTMLParser(hostile_page)


def test_nothing_is_loaded(strict: Strict, hostile_page: str) -> None:
    for tag, attributes in strict.found:
        assert tag in ELEMENTS, tag
        assert not {name for name in attributes if name in ("src", "srcset", "data", "action", "poster", "xlink:href")}
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("href", "#").startswith("#")
        for value in attributes.values():
            assert all(place.startswith("#") for place in re.findall(r"url\(([^)]*)\)", value))
    [style] = re.findall(r"<style>(.*?)</style>", hostile_page, re.DOTALL)
    assert "url(" not in style and "@import" not in style and "<" not in style
    [policy] = [a["content"] for tag, a in strict.found if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline';")


def test_texts_are_shown_as_they_are(strict: Strict) -> None:
    text = "".join(strict.text)
    assert HOSTILE[0].replace("alert", "<b>warn")[:40] in text
    assert "</div></section></main></body></html><h1>mine</h1>" in text
    assert "{{ 7 * 7 }} {% raw %} $\\frac{1}{2}$ &lt;b&gt; &#x202e;" in text
    assert EVIL in text and "id <> 8 -- </script><script>alert(2)</script>" in text


def test_what_cannot_be_seen_is_spelled_out(hostile_page: str, tree: LexborHTMLParser) -> None:
    assert not re.findall(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]", hostile_page
    )
    spelled = {node.text() for node in tree.css("i.c")}
    assert {"U+202E", "U+2066", "U+200B", "U+0000", "U+001B", "U+E0041", "U+2028"} <= spelled


def test_headings_and_landmarks(tree: LexborHTMLParser) -> None:
    levels = [int(node.tag[1]) for node in tree.css("h1, h2, h3, h4, h5, h6")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))
    for landmark in ("header", "nav", "main", "footer"):
        assert len(tree.css(f"body > {landmark}")) == 1
    assert tree.css_first("html").attributes["lang"] == "en"
    titles = {node.id: node.css_first("h2").text() for node in tree.css("main > section")}
    expected = {name: title for name, title in SECTIONS if name not in ("analysis", "contamination")}
    assert titles == expected
    assert [node.attributes["href"] for node in tree.css("nav a")] == [f"#{name}" for name in expected]


def test_ids_are_unique_and_links_resolve(strict: Strict) -> None:
    ids = [attributes["id"] for _, attributes in strict.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in strict.found:
        used = re.findall(r"url\(#([^)]*)\)", " ".join(attributes.values()))
        used += [attributes["href"][1:]] if "href" in attributes else []
        used += attributes.get("aria-labelledby", "").split()
        assert set(used) <= set(ids)


def test_tables_and_plots_say_what_they_are(tree: LexborHTMLParser) -> None:
    tables, plots = tree.css("table"), tree.css("svg")
    assert len(tables) > 8 and len(plots) >= 5
    for table in tables:
        assert table.css_first("caption").text().strip()
        heads = table.css("th")
        assert heads and all(head.attributes.get("scope") in ("col", "row") for head in heads)
    for plot in plots:
        assert plot.attributes["role"] == "img" and "viewbox" in {name.lower() for name in plot.attributes}
        assert "width" not in plot.attributes
        assert plot.css_first("title").text() and plot.css_first("desc").text()
        assert figure_of(plot).css_first("figcaption").text().strip()


def figure_of(plot: LexborNode) -> LexborNode:
    assert plot.parent is not None and plot.parent.tag == "figure"
    return plot.parent


def histogram(tree: LexborHTMLParser, name: str) -> LexborNode:
    [found] = [node for node in tree.css("article") if node.css_first("h3").text() == name]
    return found


def test_bounds_are_drawn_and_the_removed_side_is_shaded(tree: LexborHTMLParser) -> None:
    drawn = histogram(tree, "text_len").css_first("svg").html or ""
    assert drawn.count("fill: var(--shade)") == 2 and drawn.count("stroke: var(--bound)") == 2
    assert "min_len 20" in drawn and "max_len 900" in drawn
    assert "Keeps 20 to 900" in histogram(tree, "text_len").css_first("figcaption").text()
    drawn = histogram(tree, "num_words").css_first("svg").html or ""
    assert "min_num 2" in drawn and "max_num" not in drawn
    assert drawn.count("fill: var(--shade)") == 1 and drawn.count("stroke: var(--bound)") == 1


def test_the_numbers_of_a_histogram_are_those_of_the_tables(hostile: Run, tree: LexborHTMLParser) -> None:
    counted = dict(
        hostile.sql(
            "SELECT coalesce(operator, 'kept'), count(*) FROM stats LEFT JOIN ledger USING (_row) GROUP BY 1"
        ).fetchall()
    )
    rows = [[cell.text() for cell in row.css("th, td")] for row in histogram(tree, "text_len").css("tbody tr")]
    kept, here, elsewhere = (sum(int(row[at].replace(",", "")) for row in rows) for at in (2, 3, 4))
    assert (kept, here) == (counted["kept"], counted["text_length_filter"])
    assert kept + here + elsewhere == sum(counted.values())


def test_every_removal_and_change_has_examples(hostile: Run, tree: LexborHTMLParser) -> None:
    steps = hostile.sql("SELECT step, operator, removed, changed FROM steps ORDER BY step").fetchall()
    for section, at in (("removed", 2), ("changed", 3)):
        shown = {node.text(): node for node in tree.css(f"#{section} h3")}
        assert list(shown) == [f"{step[0]} {step[1]}" for step in steps if step[at]]
        assert len(tree.css(f"#{section} ol.examples")) == len(shown)
    reasons = {reason for (reason,) in hostile.sql("SELECT DISTINCT reason FROM ledger WHERE step < 6").fetchall()}
    text = tree.css_first("#removed").text()
    assert not [reason for reason in reasons if reason.split("\n")[0] not in text]
    assert tree.css("#changed del") and tree.css("#changed ins")


def test_sources_by_file_and_by_column(hostile: Run, tree: LexborHTMLParser) -> None:
    files, column = tree.css("#sources table")
    [row] = [[cell.text() for cell in row.css("th, td")] for row in files.css("tbody tr")]
    assert row[0].endswith("in <b>bold&/in.jsonl")
    counts = hostile.counts
    assert row[1:5] == [str(n) for n in (counts.read, counts.kept, counts.removed, counts.quarantined)]
    by_source = {
        cells[0]: cells[1:5] for cells in ([c.text() for c in row.css("th, td")] for row in column.css("tbody tr"))
    }
    assert set(by_source) == {"web", "<b>books", "none"}
    assert by_source["web"][0] == str(67 + 20)
    totals = [sum(int(counted[at]) for counted in by_source.values()) for at in range(4)]
    assert totals == [counts.read, counts.kept, counts.removed, counts.quarantined]


def test_quarantine_tells_file_line_and_reason(tree: LexborHTMLParser) -> None:
    _, lines = tree.css("#quarantine table")
    first, second = [[cell.text().strip() for cell in row.css("th, td")] for row in lines.css("tbody tr")]
    assert first[0].endswith("in.jsonl:221") and "malformed JSON" in first[1]
    assert first[2] == f"<script>{EVIL}</script> U+202E"
    assert second[0].endswith("in.jsonl:222") and "invalid UTF-8" in second[1] and "\\xff\\xfe<b>" in second[2]


def test_the_same_run_gives_the_same_page(hostile: Run, hostile_page: str) -> None:
    assert page(hostile.work_dir) == hostile_page


def test_examples_without_a_trace_are_recomputed(untraced: Run, tree: LexborHTMLParser) -> None:
    found = LexborHTMLParser(page(untraced.work_dir))
    assert "recomputed from the input" in found.css_first("#removed").text()
    assert len(found.css("#removed ol.examples")) == len(tree.css("#removed ol.examples"))
    assert len(found.css("#changed ol.examples")) == len(tree.css("#changed ol.examples"))
    assert found.css("#changed del") and "No example can be shown" not in found.css_first("#removed").text()


def test_without_the_input_the_page_says_so(moved: Path) -> None:
    found = LexborHTMLParser(page(moved))
    said = found.css_first("#removed").text()
    assert "gone.jsonl" in said and "No example can be shown" in said
    assert "not counted" in found.css_first("#sources").text()
    assert "var(--shade)" in (found.css_first("#statistics").html or "")  # bounds are known all the same


def test_clusters_and_units(tmp_path: Path) -> None:
    paragraph = "The same paragraph stands in several of these texts."
    texts = ["alpha beta gamma delta"] * 4 + ["one two three four five"] * 2 + ["unique <b> text"]
    texts += [f"{paragraph}\n\nparagraph number {i}" for i in range(3)]
    steps = [{"document_deduplicator": None}, {"paragraph_deduplicator": {"min_length": 20}}]
    run = refine(tmp_path, [{"text": text} for text in texts], steps)
    found = LexborHTMLParser(page(run.work_dir))
    sizes, largest, *_audit = found.css("#duplicates table")
    assert [[cell.text() for cell in row.css("th, td")] for row in sizes.css("tbody tr")] == [["2", "1"], ["4", "1"]]
    first = [cell.text().strip() for cell in largest.css("tbody tr")[0].css("th, td")]
    assert first == ["4", "0", "0, 1, 2, 3", "alpha beta gamma delta"]
    assert "2 parts were taken out of 2 texts" in found.css_first("#duplicates").text()


def test_a_run_without_rows_or_statistics(tmp_path: Path) -> None:
    run = refine(tmp_path, [], [{"clean_email_mapper": None}])
    found = LexborHTMLParser(page(run.work_dir))
    assert "0 rows read" in found.css_first("header").text() and len(found.css("main > section")) == len(SECTIONS) - 2


def test_hundreds_of_statistics_are_listed_and_some_drawn(tmp_path: Path) -> None:
    run = refine(tmp_path, [{"text": f"text {'x' * i}"} for i in range(30)], [{"text_length_filter": {"min_len": 9}}])
    with duckdb.connect(str(run.database)) as con:
        more = ", ".join(f"_row % {at + 2} AS more_{at}" for at in range(500))
        con.execute(
            f"CREATE OR REPLACE TABLE stats AS SELECT *, {more}, 'a <b>' AS word, 0.0 / 0.0 AS odd FROM stats"
        ).fetchall()
    text = page(run.work_dir)
    found = LexborHTMLParser(text)
    assert "the first 400 of 503" in found.css_first("#statistics caption").text()
    assert len(found.css("#statistics figure")) < 31 and histogram(found, "text_len")
    assert "of the 503 statistics" in found.css_first("#statistics").text() and len(text) < 3_000_000


def test_a_run_that_only_measured_says_so(tmp_path: Path) -> None:
    step = {"text_length_filter": {"min_len": 10}}
    run = refine(tmp_path, [{"text": "x" * i} for i in range(30)], [step], measure_only=True)
    found = LexborHTMLParser(page(run.work_dir))
    assert "The run only measured" in found.css_first("#statistics").text()
    assert "Would keep from 10" in histogram(found, "text_len").css_first("figcaption").text()


def test_the_next_run_takes_the_page_away(tmp_path: Path) -> None:
    run = refine(tmp_path, [{"text": "some text"}], [{"clean_email_mapper": None}])
    report(run.work_dir, None)
    assert (run.work_dir / "report.html").is_file()
    refine(tmp_path, [{"text": "another text"}], [{"clean_email_mapper": None}])
    assert not (run.work_dir / "report.html").exists()


def test_text_files_are_counted_each(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for at in range(5):
        (tmp_path / "in" / f"{at}.txt").write_text("x" * at * 5, "utf-8")
    steps = [{"text_length_filter": {"min_len": 12}}]
    run = refine(tmp_path, [], steps, dataset_path=tmp_path / "in")
    found = LexborHTMLParser(page(run.work_dir)).css_first("#sources")
    rows = [[cell.text() for cell in row.css("td")] for row in found.css("tbody tr")]
    assert rows == [["1", "0", "1", "0", "0.0 %"]] * 3 + [["1", "1", "0", "0", "100.0 %"]] * 2


def test_a_statistic_that_does_not_vary_has_no_histogram(tmp_path: Path) -> None:
    steps = [{"text_length_filter": {"min_len": 2}}, {"words_num_filter": {"min_num": 1}}]
    run = refine(tmp_path, [{"text": "three words here"}] * 9, steps)
    found = LexborHTMLParser(page(run.work_dir))
    assert "All 9 samples have the value 16. Bounds: from 2." in histogram(found, "text_len").text()
    assert not found.css("#statistics svg") and "not two statistics" in found.css_first("#correlations").text()


def test_the_waterfall_has_the_reasons_of_a_step(tmp_path: Path) -> None:
    texts = ["the cat and the dog " * n for n in (1, 2, 3, 20)] + ["# " * 60, "of " + "x " * 60]
    steps: list[Any] = [{"gopher_quality_filter": {"max_avg_word_length": 20, "min_avg_word_length": 1}}]
    run = refine(tmp_path, [{"id": i, "text": text} for i, text in enumerate(texts)], steps)
    rows = re.findall(r'<tr class="reason">.*?</tr>', page(run.work_dir))
    found = [re.findall(r"<th[^>]*>(.*?)</th>.*?<td class=\"n\">(\d+)</td>", row) for row in rows]
    assert found == [[("gopher_short_doc", "4")], [("gopher_enough_stop_words", "1")]]
