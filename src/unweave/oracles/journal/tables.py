"""The tables of a journal, in this version and in those before."""

# What tells a file of ours from another one ("Unwv"), and the version of the tables in it.
APPLICATION, VERSION = 0x556E7776, 3
WRITTEN = """
    INSERT INTO requests (model, is_probe, time, points, answers, type, outputs, part_of, first_row, checksum)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
TABLES = (
    """CREATE TABLE models (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, fingerprint TEXT NOT NULL, inputs INTEGER NOT NULL
    )""",
    """CREATE TABLE requests (
        id INTEGER PRIMARY KEY, model INTEGER NOT NULL REFERENCES models, is_probe INTEGER NOT NULL,
        time REAL NOT NULL, points BLOB NOT NULL, answers BLOB NOT NULL, type TEXT NOT NULL, outputs INTEGER NOT NULL,
        part_of INTEGER, first_row INTEGER NOT NULL DEFAULT 0, checksum INTEGER
    )""",
    """CREATE TABLE places (
        model INTEGER NOT NULL, key INTEGER NOT NULL, request INTEGER NOT NULL, row INTEGER NOT NULL,
        PRIMARY KEY (model, key, request, row)
    ) WITHOUT ROWID""",
    "CREATE TABLE indexed (request INTEGER NOT NULL)",
    "INSERT INTO indexed VALUES (0)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)
# What files of earlier versions lack: those of 1 hold every request in one row, and none of them has checksums.
CHECKED = ("ALTER TABLE requests ADD COLUMN checksum INTEGER", f"PRAGMA user_version = {VERSION}")
ADDED = {
    1: (
        "ALTER TABLE requests ADD COLUMN part_of INTEGER",
        "ALTER TABLE requests ADD COLUMN first_row INTEGER NOT NULL DEFAULT 0",
        *CHECKED,
    ),
    2: CHECKED,
}
# How requests of a version are read.
COLUMNS = {
    1: "id, 0, NULL",
    2: "coalesce(part_of, id), first_row, NULL",
    3: "coalesce(part_of, id), first_row, checksum",
}
