"""ETRecords and the events of dumps: which operator, module and method an event is."""
