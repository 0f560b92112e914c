"""Hippocrates: an assistant for medical researchers. It finds health databases, and builds cohort definitions for ATLAS in a chat.

The modules, in reading order:

tables       reads and checks folders of CSV files and DuckDB files, read-only
names        normalises names of concepts, and searches them
vocabulary   looks up concepts, their synonyms and their descendants; it is the only source of concept ids
study        defines the researcher's description of a cohort, which a model or the form fills in
terms        maps words to concepts, or to candidates from which the researcher chooses
cohort       converts a study to a cohort expression for ATLAS
render       describes a cohort expression in plain English, lists changes, and writes the next question
checks       validates a cohort expression, and finds rules that have no effect or contradict each other
cdm          counts the persons of a cohort in a local CDM database, rule by rule; small counts are suppressed
webapi       sends a confirmed cohort expression to OHDSI WebAPI

catalogue    reads the databases of a network, with their countries and patients per concept
places       finds countries and continents by their usual names
query        defines a question about databases, and maps its words to concepts
estimates    computes bounds on the number of patients in a database
discovery    finds and ranks the databases for a query

turns        classifies each turn: a message, a confirmation, or a tool result
understand   asks a model to read each message, and checks the result
form         asks fixed questions and parses the answers, for use without a model
settings     reads the options in config.yaml, and opens the data
reply_draft  collects the lines of a reply and their documents
proposal     shows, checks and counts a complete cohort, and proposes to send it
assistant    connects these parts to the proxy
"""
