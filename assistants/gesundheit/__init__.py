"""Gesundheit: answers health questions of older people in German, from question-answer pairs.

In reading order:

assistant    a reply: known wordings, a stored question, an offer, a passage, or why there is none
answers      what there is to say to a question
matcher      which stored question was asked: features, and a fitted conditional logit
similarity   how alike texts are: by stems, by letters, by an optional sentence encoder
dialogue     what has happened, read from the messages
recommend    which question to recommend next
reader       what a model reads: the stored question that is meant, the sentences of a document that answer
language     german.yaml: texts, known wordings, opposites
counters     what happened in a conversation, for the study (survey.yaml is its form)
settings     what config.yaml says, and what the assistant answers from
"""
