"""Real dumps that ship with tracehouse: several builds of two models, whose changes are known."""
