"""Private names of other packages that the source uses, each with the reason why no public means serves."""

from __future__ import annotations

# (file, name) -> reason. At most five names at the end; those of TEMPORARY go with the code that uses them.
ALLOWED: dict[tuple[str, str], str] = {
    ("refinery/io/python_data/kinds.py", "_indices"): (
        "datasets: True if rows were chosen or shuffled, so that the table in memory is not the dataset; "
        "without the name, every dataset is read as a stream"
    ),
    ("refinery/kernels/unicode/unicode_fixes_mojibake.py", "re._constants"): (
        "re: the parsed form of ftfy's pattern, from which the clues of mojibake are derived; an unknown shape "
        "sends every text beyond ASCII to ftfy itself"
    ),
    ("refinery/kernels/unicode/unicode_fixes_mojibake.py", "re._parser"): "re: as re._constants",
}

TEMPORARY: dict[tuple[str, str], str] = {
    **{
        (f"refinery/kernels/core/numba_{file}.py", name): "numba: kernels will be built by public means"
        for file, names in {
            "arrays": ["_StructProxy", "_make_refs", "_cache"],
            "calls": ["_known"],
            "compiler": [
                "_library_class",
                "_linking_libraries",
                "_module_pass_manager",
                "_get_module_for_linking",
                "_tm",
            ],
            "loops": ["_defns", "_cache"],
            "passes": ["_numba_type_"],
            "shortcuts": ["_has_loc", "_logger", "_runPass", "_disable_sroa_like_opt", "_ENFORCING", "_values"],
        }.items()
        for name in names
    },
    ("refinery/execution/ray/connection.py", "ray._private.state"): "ray: public state",
    ("refinery/operators/opened_files.py", "_getframe"): "sys: users' code moves to processes of its own",
}
