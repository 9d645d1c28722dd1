"""`Session`, through which every change of a plan goes; the ports of stores; the rules of leases. Pure."""
