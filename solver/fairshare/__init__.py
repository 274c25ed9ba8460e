"""The order of dispatch: share accounts, dynamic priority and slot pools."""
