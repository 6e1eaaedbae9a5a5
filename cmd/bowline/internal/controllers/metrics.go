package controllers

import (
	"bytes"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// eachControllerMetric parses a server's metrics. For each metric of a controller it calls set with the
// controller's name and a function that writes the value to its state.
func eachControllerMetric(text []byte, set func(name string, write func(*controllerState))) error {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return err
	}
	for family, write := range map[string]func(c *controllerState, m *dto.Metric){
		"controller_runtime_max_concurrent_reconciles": func(c *controllerState, m *dto.Metric) {
			c.Workers = int(m.GetGauge().GetValue())
		},
		"controller_runtime_active_workers": func(c *controllerState, m *dto.Metric) {
			c.Working = int(m.GetGauge().GetValue())
		},
		"controller_runtime_reconcile_errors_total": func(c *controllerState, m *dto.Metric) {
			c.Failed = int(m.GetCounter().GetValue())
		},
		"controller_runtime_reconcile_total": func(c *controllerState, m *dto.Metric) {
			c.Reconciles += int(m.GetCounter().GetValue())
		},
		"workqueue_depth": func(c *controllerState, m *dto.Metric) { c.Queue += int(m.GetGauge().GetValue()) },
	} {
		for _, m := range families[family].GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "controller" {
					set(label.GetValue(), func(c *controllerState) { write(c, m) })
				}
			}
		}
	}
	return nil
}
