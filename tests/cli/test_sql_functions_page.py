"""The page docs/sql-functions.md."""

from __future__ import annotations

from refinery.cli.render import sql_functions_page
from refinery.operators import Library
from tests.conftest import ROOT


def test_the_page_is_current_and_names_every_operator() -> None:
    library = Library()
    page = sql_functions_page.page(library)
    assert (ROOT / "docs" / "sql-functions.md").read_text("utf-8") == page, "run make docs"
    assert not [name for name in library.operators if f"[{name}](operators.md#{name})" not in page]
    assert "| [document_deduplicator](operators.md#document_deduplicator) | compares samples with one another |" in page
