"""Makes a knowledge base of documents: read, outline, divide into sections, write.

In reading order:

* `importing.py` is the whole way from files to files; `reading.py` opens a file and says what is wrong with it.
* `document.py` is what readers return: headings and texts in their order. `markdown.py`, `html.py`, `docx.py` and `pdf.py` are the
  readers, `pdf_lines.py` tells headings and paragraphs among the lines of a PDF; `docx_text.py` rewrites a Word document
  so that its reader finds all of its text. Pure.
* `sections.py` divides an outline into sections, `slug.py` gives them ids. Pure.
* `summary.py` extracts a draft summary, `model_summary.py` has a model write it, by `prompts/summary.md`.
* `section_file.py` is a section's file, and whether somebody has changed it; `plan.py` says what is written and what is left. Pure.

The libraries that read come with the extra `import`; nothing that serves imports this package.
"""
