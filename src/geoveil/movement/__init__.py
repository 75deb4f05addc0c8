"""How people and vehicles move: public habits, a filter and a smoother of what was released, places they return to."""
