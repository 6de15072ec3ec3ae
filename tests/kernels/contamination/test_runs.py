"""Runs of contamination_filter: what happens to samples, what the tables say, and when results are computed again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.commands import command
from tests.runs import lines_of, refine, rows

QUIZ = [
    {"id": "q1", "question": "Which lighthouse keeper first mapped the reefs of Brenner Sound?"},
    {"id": "q2", "question": "How many barrels of tar did the shipyard at Ostervik buy in 1804?"},
    {"id": "q3", "question": "too short"},
]
TEXTS = [
    f"Quiz. {QUIZ[0]['question']} And: {QUIZ[1]['question']} Good luck.",
    "Nothing of the kind is in this one.",
    "how many barrels of tar did the OLD shipyard at Ostervik buy, in 1804",
]


def samples() -> list[dict[str, Any]]:
    return [{"text": text} for text in TEXTS]


def sets(folder: Path) -> dict[str, Any]:
    """Two sets in files, of which one has no item in a sample."""
    (folder / "quiz.jsonl").write_text("".join(json.dumps(item) + "\n" for item in QUIZ), "utf-8")
    (folder / "other.csv").write_text("Frage\nWhere did the grain of the northern provinces go in winter?\n", "utf-8")
    return {"quiz": str(folder / "quiz.jsonl"), "other": {"path": str(folder / "other.csv"), "prompt": "Frage"}}


def test_samples_go_with_set_item_and_passage(tmp_path: Path) -> None:
    run = refine(tmp_path, samples(), [{"contamination_filter": {"sets": sets(tmp_path)}}])
    assert rows(run, "ledger", "_row, reason, statistic, bound") == [
        (row, "contaminated", "contamination_score", 1.0) for row in (0, 2)
    ]
    columns = "_row, evaluation_set, item, part, items_of_set, too_short_of_set, kept"
    expected = [
        (0, "quiz", "q1", "prompt", 3, 1, False),
        (0, "quiz", "q2", "prompt", 3, 1, False),
        (2, "quiz", "q2", "prompt", 3, 1, False),
    ]
    assert sorted(rows(run, "contamination", columns)) == expected
    [(first, end)] = rows(run, "contamination", "first_char, end_char", "_row = 2")
    assert TEXTS[2][first:end] == TEXTS[2]
    columns = "evaluation_set, items, too_short, items_found, samples, samples_kept"
    assert rows(run, "contamination_sets", columns) == [("quiz", 3, 1, 2, 2, 0), ("other", None, None, 0, 0, 0)]


def test_passages_are_cut_out_or_noted(tmp_path: Path) -> None:
    (tmp_path / "span").mkdir()
    run = refine(tmp_path / "span", samples(), [{"contamination_filter": {"sets": sets(tmp_path), "action": "span"}}])
    assert [one["text"] for one in lines_of(Path(run.outputs[0]))] == ["Quiz. ? And: ? Good luck.", TEXTS[1], ""]
    assert rows(run, "contamination_sets", "samples, samples_kept", "items_found > 0") == [(2, 2)]
    (tmp_path / "mark").mkdir()
    run = refine(tmp_path / "mark", samples(), [{"contamination_filter": {"sets": sets(tmp_path), "action": "mark"}}])
    assert [one["text"] for one in lines_of(Path(run.outputs[0]))] == TEXTS
    assert rows(run, "stats", "contamination_item") == [("q2",), ("",), ("q2",)]


def test_every_copy_is_cut_out_and_what_then_is_one(tmp_path: Path) -> None:
    """Several copies, and one around another, whose halves meet once the inner one is gone."""
    one, (first, second) = QUIZ[0]["question"], QUIZ[1]["question"].split(" shipyard ")
    texts = [f"A. {one} B. {one} C. {one}", f"D. {first} {QUIZ[1]['question']} shipyard {second} E."]
    step = {"contamination_filter": {"sets": sets(tmp_path), "action": "span"}}
    run = refine(tmp_path, [{"text": text} for text in texts], [step])
    left = [one["text"] for one in lines_of(Path(run.outputs[0]))]
    assert left[0] == "A. ? B. ? C. ?"
    again = refine(tmp_path, [{"text": text} for text in left], [{"contamination_filter": {"sets": sets(tmp_path)}}])
    assert again.counts.removed == 0 and left[1].startswith("D. ") and left[1].endswith(" E.")


def test_a_text_of_all_items_has_all_of_them_in_every_set(tmp_path: Path) -> None:
    """Also more than fit on a page; an item of two sets is in both, and rows with the same id are different items."""
    questions = [
        f"Which clerk of the {n}th harbour office sealed the {n * 7} barrels of tar in {1500 + n}?" for n in range(300)
    ]
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps({"id": n % 100, "question": q}) + "\n" for n, q in enumerate(questions))
    )
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"question": q}) + "\n" for q in questions[:50]))
    step = {"contamination_filter": {"sets": [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")], "action": "mark"}}
    run = refine(tmp_path, [{"text": "\n".join(questions)}], [step])
    found = rows(run, "contamination_sets", "evaluation_set, items, items_found, samples")
    assert found == [("a", 300, 300, 1), ("b", 50, 50, 1)]


def test_results_are_those_of_any_cut(tmp_path: Path) -> None:
    found = []
    cut: dict[str, Any] = {"np": 2, "shard_size": 100}
    for name, own in (("one", {}), ("other", cut)):
        (tmp_path / name).mkdir()
        run = refine(tmp_path / name, samples() * 20, [{"contamination_filter": {"sets": sets(tmp_path)}}], **own)
        found.append(sorted(rows(run, "contamination", "*")))
    assert found[0] == found[1] and len(found[0]) == 60


def test_a_changed_set_is_searched_again(tmp_path: Path) -> None:
    step = {"contamination_filter": {"sets": sets(tmp_path)}}
    assert refine(tmp_path, samples(), [step]).counts.removed == 2
    with (tmp_path / "quiz.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"question": TEXTS[1]}) + "\n")
    assert refine(tmp_path, samples(), [step]).counts.removed == 3


def test_common_texts_weigh_less(tmp_path: Path) -> None:
    notice = "Visitors may enter the granary only with a lamp of the warden and a pass of the lower court"
    (tmp_path / "set.jsonl").write_text("".join(json.dumps({"question": one}) + "\n" for one in (notice, TEXTS[0])))
    (tmp_path / "common.jsonl").write_text("".join(json.dumps({"text": f"{n}. {notice}"}) + "\n" for n in range(60)))
    step = {"sets": str(tmp_path / "set.jsonl")}
    texts = [{"text": f"House rules. {notice}!"}]
    (tmp_path / "with").mkdir()
    assert refine(tmp_path, texts, [{"contamination_filter": step}]).counts.removed == 1
    common = step | {"common": str(tmp_path / "common.jsonl")}
    assert refine(tmp_path / "with", texts, [{"contamination_filter": common}]).counts.removed == 0


def test_why_report_and_card_name_the_item(tmp_path: Path) -> None:
    refine(tmp_path, samples(), [{"contamination_filter": {"sets": sets(tmp_path)}}])
    code, printed = command("why", "2", "--run", "run", folder=tmp_path)
    assert code == 0 and "contamination_item: q2" in printed and "contamination_passage: how many barrels" in printed
    assert command("report", "run", folder=tmp_path)[0] == command("card", "run", folder=tmp_path)[0] == 0
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "Evaluation sets" in page and "Items with a copy in samples" in page
    assert "Items of evaluation sets" in (tmp_path / "run" / "card" / "card.md").read_text("utf-8")
    quiz, before = tmp_path / "quiz.jsonl", (tmp_path / "quiz.jsonl").stat()
    quiz.write_text(quiz.read_text().replace("Sound", "Found"))
    os.utime(quiz, ns=(before.st_atime_ns, before.st_mtime_ns))
    code, printed = command("why", "2", "--run", "run", folder=tmp_path)
    assert code == 3 and "quiz.jsonl changed since the run" in printed
