"""Hippocrates: find health databases that can answer a question, and build a cohort definition by talking.

In reading order:

tables      folders of CSV files and DuckDB files, opened read-only and checked at the door
names       names of concepts as they are compared, and found
vocabulary  concepts, their synonyms and descendants; the only place that concept ids come from
catalogue   databases, their countries, and how many patients each has of which concept
query       what a question asks of databases
estimates   how many patients databases have of it, as far as counts say
discovery   the databases that answer it, ranked by the patients they have
demo        a catalogue drawn from demo data

slots       what a cohort is made of
study       what is known of a cohort, folded from the messages, and how it changes
amounts     numbers and lengths of time in words
phrases     the documented phrases that say something by themselves
heads       what stands before a concept, and around it
terms       words to concepts, or to candidates to choose from
answers     sentences that answer a question or correct what was said
sentence    the ways to read a sentence as such phrases
assembly    what the phrases of a sentence make of a study
grammar     what a message makes of it, sentence by sentence
planner     what the grammar does not understand, read by a model that only fills slots
wording     how ages, rules and windows are said
cohort      a study to the expression that ATLAS takes
checks      is an expression valid, and does it mean something
read_back   an expression in plain English, and the next question
cdm         an expression run on a local CDM: persons, and how many each rule leaves
webapi      a confirmed expression sent to OHDSI WebAPI

settings     what config.yaml says of it
talk         what each sentence is for, and what its tools were answered
reply_draft  a reply as it comes together
answering    sentences that say nothing of the cohort
summary      what is known of a cohort, a line for each slot, and what a message changed
proof        counts of a cohort, with those of few persons suppressed
proposal     a cohort that is complete: read back, checked, counted, proposed to be sent
assistant    all of it, behind the proxy
"""
