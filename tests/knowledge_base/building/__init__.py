"""Tests of building the sections of a knowledge base from documents."""
