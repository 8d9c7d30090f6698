"""The chapters: notebooks, what they draw and check with (`book`), and their exercises."""
