-- Comparisons are computed by functions, and read no table of the exact distribution any more.

DROP TABLE mann_whitney_exact;
