"""An Excel workbook (.xlsx) that lists photos and labels on one of its sheets, or on several."""

import zipfile

from inspect_core.datasets.manifests.label_table import TableRows, listing_of, names_photos
from inspect_core.datasets.manifests.list_file import MOST_BYTES, ListFile
from inspect_core.datasets.manifests.manifest_entry import Listing, ManifestError
from inspect_core.runtime.zip_directory import check_directory

SUFFIXES = frozenset({".xlsx", ".xlsm"})
NAMES_ALL = True
MOST_ROWS, MOST_COLUMNS = 100_000, 100
"""Of a sheet; what stands further to the right is not read."""


def holds(file: ListFile) -> bool:
    """Whether a sheet has a column that names photos. Raises ManifestError for a file that is no workbook."""
    return any(names_photos(file, rows) for rows in file.once(_sheets))


def read(file: ListFile) -> Listing:
    """The photos of all sheets that name some. Raises ManifestError as `listing_of`."""
    listings = [listing_of(file, rows) for rows in file.once(_sheets) if names_photos(file, rows)]
    return Listing(*(sum(parts, start=type(parts[0])()) for parts in zip(*listings, strict=True)))


def _sheets(file: ListFile) -> list[TableRows]:
    """The rows of each sheet, formulas by the value that was stored with them. Raises ManifestError and OSError."""
    from openpyxl import load_workbook  # a tenth of a second that folders without one need not wait

    path = file.root / file.name
    sheets = []
    try:
        check_directory(path)
        with zipfile.ZipFile(path) as archive:
            if sum(part.file_size for part in archive.infolist()) > MOST_BYTES:
                raise ManifestError("the file", f"it holds more than {MOST_BYTES >> 20} MB", "save it as CSV")
        workbook = load_workbook(path, read_only=True, data_only=True, keep_links=False)
        try:
            for sheet in workbook.worksheets:
                sheet.reset_dimensions()  # as stated by the file, they may be a million empty rows
                bounds = {"max_row": MOST_ROWS + 1, "max_col": MOST_COLUMNS, "values_only": True}
                texts = [[*map(_text, row)] for row in sheet.iter_rows(**bounds)]
                if len(texts) > MOST_ROWS:
                    raise ManifestError(f"sheet {sheet.title}", f"it has more than {MOST_ROWS:,} rows", "divide it")
                width = max((number for row in texts for number, text in enumerate(row, 1) if text), default=0)
                numbered = enumerate((row[:width] for row in texts), 1)
                rows = [(f"sheet {sheet.title}, row {number}", row) for number, row in numbered if any(row)]
                sheets.append(rows)
        finally:
            workbook.close()
        return sheets
    except (ManifestError, OSError):
        raise
    except Exception as error:  # whatever a damaged workbook lets the library raise
        raise ManifestError("the file", "it is no workbook that can be read", "save it as CSV") from error


def _text(value: object) -> str:
    """A cell as it is typed: 12 for 12.0, true for a tick."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).lower() if isinstance(value, bool) else str(value).strip()
