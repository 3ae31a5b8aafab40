// The manager of the application operator: its controller and its webhooks.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // every way to log in that a kubeconfig can name
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	examplev1 "example.com/application-operator/api/v1"
	"example.com/application-operator/internal/controller"
	webhookv1 "example.com/application-operator/internal/webhook/v1"
	// +kubebuilder:scaffold:imports
)

// options are the flags. Their names and defaults are those of a kubebuilder project.
type options struct {
	metricsAddress string
	probeAddress   string
	leaderElect    bool
	metricsSecure  bool
	enableHTTP2    bool
	webhookCert    keyPair
	metricsCert    keyPair
	log            zap.Options
}

// keyPair says where a server finds its certificate. No directory: the server's own default.
type keyPair struct{ dir, cert, key string }

func main() {
	opts := options{log: zap.Options{Development: true}}
	opts.bind(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&opts.log)))
	if err := run(opts); err != nil {
		ctrl.Log.WithName("setup").Error(err, "the manager ended")
		os.Exit(1)
	}
}

func (o *options) bind(flags *flag.FlagSet) {
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", "0",
		"Where metrics are served: :8443 for HTTPS, :8080 for HTTP, 0 for nowhere.")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "Where the probes are served.")
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "Let only one manager at a time run the controllers.")
	flags.BoolVar(&o.metricsSecure, "metrics-secure", true, "Serve metrics over HTTPS, to whom the cluster allows it.")
	flags.BoolVar(&o.enableHTTP2, "enable-http2", false, "Allow HTTP/2 for metrics and webhooks.")
	o.webhookCert.bind(flags, "webhook")
	o.metricsCert.bind(flags, "metrics")
	o.log.BindFlags(flags)
}

func (k *keyPair) bind(flags *flag.FlagSet, server string) {
	flags.StringVar(&k.dir, server+"-cert-path", "", "The directory of the "+server+" server's certificate.")
	flags.StringVar(&k.cert, server+"-cert-name", "tls.crt", "The file name of the "+server+" server's certificate.")
	flags.StringVar(&k.key, server+"-cert-key", "tls.key", "The file name of the "+server+" server's key.")
}

func run(opts options) error {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(examplev1.AddToScheme(scheme))
	// +kubebuilder:scaffold:scheme

	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find a cluster: %w", err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsOptions(opts),
		WebhookServer:          webhook.NewServer(webhookOptions(opts)),
		HealthProbeBindAddress: opts.probeAddress,
		LeaderElection:         opts.leaderElect,
		LeaderElectionID:       "5f1d3c2a.example.com",
		// Safe, because this process ends as soon as the manager has: the next leader need not wait.
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return fmt.Errorf("create the manager: %w", err)
	}
	if err := register(mgr); err != nil {
		return err
	}
	ctrl.Log.WithName("setup").Info("starting manager")
	return mgr.Start(ctrl.SetupSignalHandler())
}

func register(mgr ctrl.Manager) error {
	reconciler := &controller.ApplicationReconciler{
		Client:   mgr.GetClient(),
		Scheme:   mgr.GetScheme(),
		Recorder: mgr.GetEventRecorder("application-controller"),
	}
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("register the controller for Application: %w", err)
	}
	ready := healthz.Ping
	if os.Getenv("ENABLE_WEBHOOKS") != "false" {
		if err := webhookv1.SetupApplicationWebhookWithManager(mgr); err != nil {
			return fmt.Errorf("register the webhooks for Application: %w", err)
		}
		ready = mgr.GetWebhookServer().StartedChecker() // a Ready Pod answers reviews
	}
	// +kubebuilder:scaffold:builder
	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return fmt.Errorf("register the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("readyz", ready); err != nil {
		return fmt.Errorf("register the ready check: %w", err)
	}
	return nil
}

func webhookOptions(opts options) webhook.Options {
	return webhook.Options{
		TLSOpts:  tlsOptions(opts),
		CertDir:  opts.webhookCert.dir,
		CertName: opts.webhookCert.cert,
		KeyName:  opts.webhookCert.key,
	}
}

func metricsOptions(opts options) metricsserver.Options {
	server := metricsserver.Options{
		BindAddress:   opts.metricsAddress,
		SecureServing: opts.metricsSecure,
		TLSOpts:       tlsOptions(opts),
	}
	if opts.metricsSecure {
		server.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	if opts.metricsCert.dir != "" { // otherwise the server signs one for itself
		server.CertDir = opts.metricsCert.dir
		server.CertName = opts.metricsCert.cert
		server.KeyName = opts.metricsCert.key
	}
	return server
}

// tlsOptions keeps HTTP/2 off unless asked for: Rapid Reset, CVE-2023-44487.
func tlsOptions(opts options) []func(*tls.Config) {
	if opts.enableHTTP2 {
		return nil
	}
	return []func(*tls.Config){func(config *tls.Config) { config.NextProtos = []string{"http/1.1"} }}
}
