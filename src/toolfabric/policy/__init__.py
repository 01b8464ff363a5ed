"""Who may do what: risks, budgets, grants and approvers."""
