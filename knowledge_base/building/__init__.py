"""Builds the sections of a knowledge base from documents (`caf kb import`).

In reading order:

* `importing.py` runs an import; `reading.py` reads one file of any supported format.
* `document.py` defines Document, a list of headings and texts. `markdown.py`, `html.py`, `docx.py` and `pdf.py` are the readers.
  `pdf_lines.py` finds headings and paragraphs among the lines of a PDF. `docx_text.py` rewrites a Word document so that the
  reader finds all text. Pure.
* `sections.py` divides a document into sections; `slug.py` builds their ids. Pure.
* `summary.py` extracts a draft summary; `model_summary.py` asks a model to write one, with `prompts/summary.md`.
* `section_file.py` reads and writes the file of a section, and detects edits. `plan.py` decides which files to write. Pure.

The libraries for PDF and Word come with the extra `import`. The proxy does not import this package.
"""
