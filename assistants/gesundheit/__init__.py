"""Gesundheit: answers health questions of older people in German, from question-answer pairs.

In reading order:

assistant    the reply: to a known wording, or to a question
answers      answer to a question: a stored answer, an offer, a passage, or the reason for having no answer
matcher      finds the stored question: features, and a fitted conditional logit
similarity   similarity of texts: by stems, by letters, by an optional sentence encoder
dialogue     the state of a conversation, read from its messages
recommend    selects the next question to recommend
reader       asks a model for the stored question, or for sentences of a document
language     reads german.yaml: texts, known wordings, opposites
counters     counts events of conversations for the study (survey.yaml is its form)
settings     reads the options, and loads the knowledge base
"""
