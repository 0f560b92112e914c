"""Hippocrates: find health databases that can answer a question, and build a cohort definition by talking.

In reading order:

tables      folders of CSV files and DuckDB files, opened read-only and checked at the door
vocabulary  concepts, their synonyms and descendants; the only place that concept ids come from
catalogue   databases, their countries, and how many patients each has of which concept
discovery   a question to databases, ranked by the patients they have
demo        a catalogue drawn from demo data
"""
