"""LaTeX papers for the sample of `recipes/papers.yaml`."""

from __future__ import annotations

from prose import LAST_NAMES, WORDS, Dice, Writer, person

MACROS = r"""\newcommand{\R}{\mathbb{R}}
\newcommand{\eps}{\varepsilon}
\newcommand{\vel}{$\mathbf{v}$}
\def\dd{\mathrm{d}}
\def\model{\textsc{Estuary}}
"""
HEADINGS = ("Introduction", "The model", "Discretisation", "Experiments", "Estimates", "Discussion", "Conclusions")


def comment(w: Writer) -> str:
    return w.line("comments")


def commented(w: Writer, text: str) -> str:
    """The text with comments on lines of their own, at line ends, and a bare percent sign."""
    lines = []
    for line in text.split("\n"):
        if line and w.dice.chance(0.25):
            lines.append(f"% {comment(w)}")
        lines.append(f"{line} % {comment(w)}" if line and w.dice.chance(0.15) else line)
    return "\n".join(lines)


def equation(w: Writer) -> str:
    name, n = w.dice.pick(WORDS), w.dice.between(2, 9)
    return (
        f"\\begin{{equation}}\\label{{eq:{name}}}\n"
        f"  \\frac{{\\dd h}}{{\\dd t}} + {n} \\, \\nabla \\cdot (h u) = \\eps \\Delta h \\quad \\text{{in }} \\R^{n},\n"
        f"\\end{{equation}}"
    )


def section(w: Writer, heading: str) -> str:
    command = w.dice.pick(("section", "section", "section*", "subsection"))
    body = [w.paragraph(3, 5), equation(w), w.paragraph(2, 5)]
    if w.dice.chance(0.4):
        body.append(f"\\paragraph{{Remark.}} {w.paragraph(1, 2)}")
    return commented(w, f"\\{command}{{{heading}}}\n\n" + "\n\n".join(body))


def bibliography(w: Writer) -> str:
    items = "\n".join(
        f"\\bibitem{{{w.dice.pick(LAST_NAMES).lower()}{w.dice.between(70, 99)}}} {person(w.dice)}, "
        f"\\emph{{{w.title()}}}, {w.dice.between(1970, 2020)}."
        for _ in range(w.dice.between(4, 9))
    )
    style = w.dice.below(3)
    if style == 0:
        return f"\\bibliographystyle{{plain}}\n\\bibliography{{{w.dice.pick(WORDS)}}}"
    if style == 1:
        return f"\\appendix\n\\section{{Tables}}\n{w.paragraph()}\n\\begin{{references}}\n{items}\n\\end{{references}}"
    return f"\\begin{{thebibliography}}{{99}}\n{items}\n\\end{{thebibliography}}"


def preamble(w: Writer) -> str:
    return (
        f"\\documentclass[{w.dice.between(10, 12)}pt]{{article}}\n\\usepackage{{amsmath,amssymb}}\n% {comment(w)}\n"
        f"{MACROS}\\title{{{w.title()}}}\n\\author{{{person(w.dice)} \\and {person(w.dice)}}}\n"
        f"\\begin{{document}}\n\\maketitle\n\\begin{{abstract}}\n{w.paragraph(2, 4)}\n\\end{{abstract}}"
    )


def paper(w: Writer) -> str:
    count = w.dice.between(3, 6)
    body = [section(w, heading) for heading in HEADINGS[: count - 1] + HEADINGS[-1:]]
    return "\n\n".join([preamble(w), *body, bibliography(w), "\\end{document}\n"])


def letter(w: Writer) -> str:
    """A text without any heading: remove_header_mapper removes all of it."""
    return "\n\n".join([preamble(w), w.paragraphs(2, 3), "\\end{document}\n"])


def fragment(w: Writer) -> str:
    """The included file of a chapter, with macros of its own and no preamble."""
    own = f"\\def\\tide{{{w.dice.pick(WORDS)}}}\n\\newcommand{{\\eps}}{{\\varepsilon}}"
    first = f"\\chapter[{w.dice.pick(WORDS)}]{{{w.title()}}}\n\n{own}\n\nThe \\tide\\ term is below $\\eps$."
    return "\n\n".join([first, section(w, HEADINGS[1]), section(w, HEADINGS[3])])


def remark(w: Writer) -> str:
    """A heading and one sentence: too short to keep."""
    return f"\\section{{{w.dice.pick(HEADINGS)}}}\n% {comment(w)}\n{w.sentence()}\n\\bibliography{{all}}\n"


PLAN = ((paper, 20), (letter, 3), (fragment, 5), (remark, 2))


def papers(dice: Dice) -> list[dict[str, object]]:
    """Thirty records: id, text, url, meta."""
    texts = []
    for kind, count in PLAN:
        for _ in range(count):
            w = Writer(dice, "papers")
            texts.append((w.title(), kind(w)))
    return [
        {
            "id": f"paper-{number:03}",
            "text": text,
            "url": f"https://papers.example.org/abs/{dice.between(1001, 2512)}.{dice.below(100000):05}",
            "meta": {"title": title, "year": dice.between(1998, 2024), "pages": dice.between(4, 40)},
        }
        for number, (title, text) in enumerate(dice.mixed(texts), 1)
    ]
