// The part of zz_devloop.go that needs controller-runtime 0.14 or newer.

package main

import (
	devloopContext "context"

	devloopLogr "github.com/go-logr/logr"
	devloopController "sigs.k8s.io/controller-runtime/pkg/controller"
)

func init() {
	devloopIDOf = func(ctx devloopContext.Context) string { return string(devloopController.ReconcileIDFromContext(ctx)) }
}

// GetLogger returns the manager's logger. A controller is built with it, and adds its own name, group and kind as values.
func (m devloopManager) GetLogger() devloopLogr.Logger {
	logger := m.Manager.GetLogger()
	if sink := logger.GetSink(); sink != nil {
		return logger.WithSink(devloopSink{sink, ""})
	}
	return logger
}

// devloopSink notes the kind of a controller, and gives way to the logger's own sink as soon as it is known.
type devloopSink struct {
	devloopLogr.LogSink
	controller string
}

func (s devloopSink) WithValues(pairs ...interface{}) devloopLogr.LogSink {
	inner := s.LogSink.WithValues(pairs...)
	text := map[interface{}]string{"controller": s.controller}
	for i := 0; i+1 < len(pairs); i += 2 {
		if value, ok := pairs[i+1].(string); ok {
			text[pairs[i]] = value
		}
	}
	if text["controllerKind"] != "" {
		devloopKinds.Store(text["controller"], devloopKind{text["controllerGroup"], text["controllerKind"]})
	}
	if s.controller != "" || text["controller"] == "" || text["controllerKind"] != "" {
		return inner
	}
	return devloopSink{inner, text["controller"]}
}
