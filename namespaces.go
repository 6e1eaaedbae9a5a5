package bowline

func startNamespaceController(p *Plane) error { return nil }
