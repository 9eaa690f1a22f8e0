"""Statistics of events: exact ones, totals and histograms."""
