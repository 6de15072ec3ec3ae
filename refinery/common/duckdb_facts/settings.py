"""Settings of connections, and sizes that DuckDB works with."""

from __future__ import annotations

# Oldest version that refinery works with; pyproject.toml asks for it. 2.0.0 plans a prepared statement at each EXECUTE.
OLDEST = (2, 0, 1)

# Python variables are no tables, no extension is fetched or loaded, secrets of other programs are not read.
CLOSED = (
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET allow_persistent_secrets = false",
    "SET enable_external_file_cache = false",  # files are read once or twice, and the system has their pages anyway
    "SET TimeZone = 'UTC'",  # the machine's time zone would change how texts become times
)
# Files outside of `allowed_directories` and the spill folder; `temp_directory` must be set before.
NO_OTHER_FILES = "SET enable_external_access = false"
LOCKED = "SET lock_configuration = true"
NO_PROGRESS_BAR = "SET enable_progress_bar = false"

# A vector of texts may pass 2 GiB, which DuckDB refuses without this setting.
LARGE_TEXTS = "SET arrow_large_buffer_size = true"
KEEP_ORDER = "SET preserve_insertion_order = true"
ANY_ORDER = "SET preserve_insertion_order = false"
# Sums of floating-point numbers depend on their order, and the order of a file's rows on the threads that read it.
ONE_THREAD = "SET threads = 1"

# Measures each statement for `get_profiling_information`, and prints nothing.
PROFILING = "PRAGMA enable_profiling = 'no_output'"

# A database file that nobody reads before it is renamed need not be synchronised with the disk at each checkpoint.
NO_FSYNC = "SET fsync_mode = 'NONE'"
# Storage that every DuckDB since 1.0 reads; files in the storage of 2.0 are opened by no 1.x. A file keeps its storage.
STORAGE = "v1.0.0"

# Most rows with which a function is called.
VECTOR = 2048
