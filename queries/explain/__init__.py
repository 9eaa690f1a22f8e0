"""Why an alert is there: what differs between its good and its bad build, in several forms."""
