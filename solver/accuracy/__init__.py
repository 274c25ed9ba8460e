"""How right estimates of starts were: the measures, and tables of them; arrays in, records out."""
