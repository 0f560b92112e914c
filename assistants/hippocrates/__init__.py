"""Hippocrates: find health databases that can answer a question, and build a cohort definition by talking.

In reading order:

tables       folders of CSV files and DuckDB files, opened read-only and checked at the door
names        names of concepts as they are compared, and found
vocabulary   concepts, their synonyms and descendants; the only place that concept ids come from
study        a cohort as a researcher has described it: what a model or the form fills in
terms        words to concepts, or to candidates to choose from
cohort       a study to the expression that ATLAS takes
render       an expression in plain English, what a message changed, and the next question
checks       is an expression valid, and does it mean something
cdm          an expression run on a local CDM: persons, and how many each rule leaves, few of them suppressed
webapi       a confirmed expression sent to OHDSI WebAPI

catalogue    databases, their countries, and their patients per concept
places       countries and continents by their usual names
query        what a question asks of databases
estimates    how many patients databases have of it, as far as counts say
discovery    the databases that answer it, ranked by the patients they have

turns        what each turn is: a message, a confirmation, or the answer of a tool
understand   what a message makes of a study: read once by a model, checked by code
form         fixed questions and answers, for use without a model
settings     what config.yaml says of the assistant
reply_draft  a reply as it comes together
proposal     a cohort that is complete: read back, checked, counted, proposed to be sent
assistant    all of it, behind the proxy
"""
