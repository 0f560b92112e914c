"""Builds a knowledge base from documents: read, outline, divide into sections, write.

In reading order:

* `importing.py` runs an import from files to files; `reading.py` reads one file or raises an error with a remedy.
* `document.py` defines a document: headings and texts in order. `markdown.py`, `html.py`, `docx.py` and `pdf.py` are the readers.
  `pdf_lines.py` finds headings and paragraphs among the lines of a PDF. `docx_text.py` rewrites a Word document so that its
  reader finds all text. Pure.
* `sections.py` divides an outline into sections; `slug.py` gives them ids. Pure.
* `summary.py` extracts a draft summary; `model_summary.py` lets a model write it, with `prompts/summary.md`.
* `section_file.py` reads and writes a section's file, and detects edits. `plan.py` decides what an import writes. Pure.

The reader libraries come with the extra `import`. The proxy does not import this package.
"""
