"""Hippocrates: find health databases that can answer a question, and build a cohort definition by talking.

In reading order:

tables       reads and checks folders of CSV files and DuckDB files, read-only
names        normalises names of concepts, and searches them
vocabulary   concepts, their synonyms and descendants; the only source of concept ids
study        the researcher's description of a cohort, filled in by a model or the form
terms        maps words to concepts, or to candidates to choose from
cohort       turns a study into the expression that ATLAS takes
render       describes an expression in plain English, lists changes, and writes the next question
checks       validates an expression, and looks for rules without effect or in conflict
cdm          counts a cohort on a local CDM, rule by rule; small counts are suppressed
webapi       sends a confirmed expression to OHDSI WebAPI

catalogue    databases, their countries, and their patients per concept
places       countries and continents by their usual names
query        a question about databases
estimates    bounds on the number of patients in a database
discovery    finds and ranks the databases for a query

turns        classifies each turn: a message, a confirmation, or the answer of a tool
understand   has a model read each message, and checks the result
form         fixed questions and answers, for use without a model
settings     the options of the assistant in config.yaml
reply_draft  collects the lines of a reply and their documents
proposal     reads back, checks and counts a complete cohort, and proposes to send it
assistant    connects these parts behind the proxy
"""
