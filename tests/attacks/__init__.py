"""Families of attacks on the guarding of replies, generated: each stays here, so that it stays closed."""
