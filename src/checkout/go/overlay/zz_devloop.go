// Tells devloop which reconcile makes each call of this program to the API server. devloop builds this file into the
// program (go build -overlay); it is in no checkout. Without the variable DEVLOOP_CALLS it does nothing. All names are
// prefixed, because those of the program are not known, and it is written for the Go of controller-runtime 0.7.

package main

import (
	devloopContext "context"
	devloopRand "crypto/rand"
	devloopJSON "encoding/json"
	devloopFmt "fmt"
	devloopNet "net"
	devloopHTTP "net/http"
	devloopURL "net/url"
	devloopOS "os"
	devloopReflect "reflect"
	devloopSync "sync"
	devloopSyscall "syscall"
	devloopTime "time"

	devloopRest "k8s.io/client-go/rest"
	devloopRuntime "sigs.k8s.io/controller-runtime"
	devloopManagers "sigs.k8s.io/controller-runtime/pkg/manager"
	devloopReconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func init() {
	socket := devloopOS.Getenv("DEVLOOP_CALLS")
	if socket == "" {
		return
	}
	newManager := devloopRuntime.NewManager
	devloopRuntime.NewManager = func(config *devloopRest.Config, options devloopRuntime.Options) (devloopRuntime.Manager, error) {
		if config != nil {
			config.Wrap(func(inner devloopHTTP.RoundTripper) devloopHTTP.RoundTripper { return devloopTransport{inner} })
		}
		manager, err := newManager(config, options)
		if err != nil {
			return manager, err
		}
		devloopSent.connect(socket)
		return devloopManager{manager}, nil
	}
}

// devloopIDOf returns the ID that controller-runtime gave to the reconcile. It has none in the context before 0.14.
var devloopIDOf = func(devloopContext.Context) string { return "" }

// devloopKinds has for each controller's name the group and kind of its objects.
var devloopKinds devloopSync.Map

type devloopKind struct{ group, kind string }

// devloopRun is one reconcile.
type devloopRun struct {
	ID         string  `json:"begin"`
	At         float64 `json:"at"`
	Controller string  `json:"controller"`
	Group      string  `json:"group,omitempty"`
	Kind       string  `json:"kind,omitempty"`
	Namespace  string  `json:"namespace,omitempty"`
	Name       string  `json:"name"`
}

type devloopEnd struct {
	ID             string  `json:"end"`
	At             float64 `json:"at"`
	Result         string  `json:"result"`
	RequeueAfterMs int64   `json:"requeueAfterMs,omitempty"`
	Error          string  `json:"error,omitempty"`
}

type devloopKey struct{}

// devloopTransport tags the requests that have the context of a reconcile.
type devloopTransport struct{ inner devloopHTTP.RoundTripper }

func (t devloopTransport) RoundTrip(request *devloopHTTP.Request) (*devloopHTTP.Response, error) {
	run, isKnown := request.Context().Value(devloopKey{}).(*devloopRun)
	if !isKnown {
		// A controller that its manager does not know has only this.
		run = &devloopRun{ID: devloopIDOf(request.Context())}
	}
	if run.ID == "" {
		return t.inner.RoundTrip(request)
	}
	tagged := request.WithContext(request.Context())
	tagged.Header = request.Header.Clone()
	tagged.Header.Set("Devloop-Reconcile", run.ID)
	if isKnown {
		// A name can contain anything, because a program can make requests for what is no object.
		tagged.Header.Set("Devloop-Controller", devloopURL.PathEscape(run.Controller))
		tagged.Header.Set("Devloop-Object", devloopURL.PathEscape(run.Namespace)+"/"+devloopURL.PathEscape(run.Name))
	}
	if run.Kind != "" {
		tagged.Header.Set("Devloop-Kind", devloopURL.PathEscape(run.Group)+"/"+devloopURL.PathEscape(run.Kind))
	}
	return t.inner.RoundTrip(tagged)
}

// WrappedRoundTripper lets client-go find the transport below.
func (t devloopTransport) WrappedRoundTripper() devloopHTTP.RoundTripper { return t.inner }

// devloopManager puts a devloopReconciler before the reconciler of each controller.
type devloopManager struct{ devloopRuntime.Manager }

const devloopControllers = "sigs.k8s.io/controller-runtime/pkg/internal/controller"

var devloopDo = devloopReflect.TypeOf((*devloopReconcile.Reconciler)(nil)).Elem()

func (m devloopManager) Add(runnable devloopManagers.Runnable) error {
	if value := devloopReflect.ValueOf(runnable); value.Kind() == devloopReflect.Ptr && !value.IsNil() {
		controller := value.Elem()
		if controller.Kind() == devloopReflect.Struct && controller.Type().PkgPath() == devloopControllers {
			do, name := controller.FieldByName("Do"), controller.FieldByName("Name")
			// Controllers of requests of other types cannot be wrapped: their calls have only an ID.
			if do.IsValid() && do.CanSet() && do.Type() == devloopDo && !do.IsNil() && name.Kind() == devloopReflect.String {
				inner := do.Interface().(devloopReconcile.Reconciler)
				do.Set(devloopReflect.ValueOf(devloopReconciler{inner, name.String()}))
			}
		}
	}
	return m.Manager.Add(runnable)
}

type devloopReconciler struct {
	inner      devloopReconcile.Reconciler
	controller string
}

func (r devloopReconciler) Reconcile(ctx devloopContext.Context, request devloopReconcile.Request) (result devloopReconcile.Result, err error) {
	run := &devloopRun{
		ID: devloopIDOf(ctx), At: devloopNow(),
		Controller: r.controller, Namespace: request.Namespace, Name: request.Name,
	}
	if run.ID == "" {
		run.ID = devloopNewID()
	}
	if known, ok := devloopKinds.Load(r.controller); ok {
		run.Group, run.Kind = known.(devloopKind).group, known.(devloopKind).kind
	}
	devloopSent.send(run)
	isDone := false
	defer func() {
		end := devloopEnd{ID: run.ID, At: devloopNow(), Result: "panic"}
		if isDone {
			end.describe(result, err)
		}
		devloopSent.send(end)
	}()
	result, err = r.inner.Reconcile(devloopContext.WithValue(ctx, devloopKey{}, run), request)
	isDone = true
	return result, err
}

const devloopLongest = 4096

// describe uses the words of controller-runtime's metrics, which decides in the same order.
func (e *devloopEnd) describe(result devloopReconcile.Result, err error) {
	e.Result = "success"
	// The field is deprecated, so it may be absent one day.
	requeue := devloopReflect.ValueOf(result).FieldByName("Requeue")
	switch {
	case err != nil:
		e.Result, e.Error = "error", err.Error()
		if len(e.Error) > devloopLongest {
			e.Error = e.Error[:devloopLongest]
		}
	case result.RequeueAfter > 0:
		e.Result, e.RequeueAfterMs = "requeue_after", int64(result.RequeueAfter/devloopTime.Millisecond)
	case requeue.IsValid() && requeue.Kind() == devloopReflect.Bool && requeue.Bool():
		e.Result = "requeue"
	}
}

func devloopNow() float64 { return float64(devloopTime.Now().UnixNano()/1000) / 1000 }

func devloopNewID() string {
	id := make([]byte, 16)
	_, _ = devloopRand.Read(id)
	return devloopFmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// devloopSent is what devloop is told about reconciles: lines of JSON on a unix socket.
var devloopSent devloopLines

type devloopLines struct {
	mutex      devloopSync.Mutex
	connection devloopSyscall.RawConn
	unsent     []byte
}

func (l *devloopLines) connect(socket string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.connection != nil {
		return
	}
	connection, err := devloopNet.DialTimeout("unix", socket, devloopTime.Second)
	if err != nil {
		return
	}
	if unix, ok := connection.(*devloopNet.UnixConn); ok {
		l.connection, _ = unix.SyscallConn()
	}
}

const devloopMostUnsent = 1 << 20

// send writes at once, so that nothing is lost when the program ends, and never waits: while devloop does not read, the system
// keeps some hundred lines and this program a megabyte. Further ones are dropped.
func (l *devloopLines) send(event interface{}) {
	line, err := devloopJSON.Marshal(event)
	if err != nil {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.connection == nil {
		return
	}
	if len(l.unsent) < devloopMostUnsent {
		l.unsent = append(append(l.unsent, line...), '\n')
	}
	l.connection.Write(func(fd uintptr) bool {
		written, err := devloopSyscall.Write(int(fd), l.unsent)
		if err == nil {
			l.unsent = l.unsent[written:]
		}
		return true
	})
}
