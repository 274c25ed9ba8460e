"""What is free when: demands, resources, usage, and the profiles over time and at one instant."""
