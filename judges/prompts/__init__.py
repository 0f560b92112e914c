"""The built-in judges' instructions: NAME.swift.md, NAME.chief.md, and refiner.md."""
