package main

import (
	"bufio"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	configMaps = "/api/v1/namespaces/default/configmaps"
	// Of each object; with its metadata, it has half as much again as JSON.
	valueBytes  = 1024
	fillAtOnce  = 16
	warmUpCalls = 20
	// A watch sees each event on its own.
	pauseBetween = 5 * time.Millisecond
	straight     = "direct"
)

// way is one way to the API server.
type way struct {
	URL   string `json:"url"`
	CA    string `json:"ca"`
	Cert  string `json:"cert"`
	Key   string `json:"key"`
	Token string `json:"token"`
	plain *http.Client
	gzip  *http.Client
}

// api is the client for ../api.ts. The first argument after the command is a file with the ways to the API server, by name.
func api(args []string) {
	ways := readWays(args[1])
	switch args[0] {
	case "fill":
		fill(ways[straight], number(args[2]))
	case "get":
		timed(number(args[3]), func() { ways[args[2]].read(configMaps+"/"+nameOf(0), "application/json", false) })
	case "list":
		timed(number(args[5]), func() { ways[args[2]].read(configMaps, args[3], args[4] == "gzip") })
	case "write":
		write(ways[args[2]], number(args[3]), number(args[4]))
	case "watch":
		watch(ways[straight], ways[args[2]], number(args[3]))
	default:
		log.Fatalf("unknown command api %q", args[0])
	}
}

func readWays(file string) map[string]*way {
	text, err := os.ReadFile(file)
	check(err)
	ways := map[string]*way{}
	check(json.Unmarshal(text, &ways))
	for _, one := range ways {
		one.plain, one.gzip = one.client(true), one.client(false)
	}
	return ways
}

// client is as client-go's: HTTP/2 where the server has it, otherwise kept connections.
func (w *way) client(disableCompression bool) *http.Client {
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM([]byte(w.CA))
	if w.Cert != "" {
		pair, err := tls.X509KeyPair([]byte(w.Cert), []byte(w.Key))
		check(err)
		config.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:     config,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 25,
		DisableCompression:  disableCompression,
	}}
}

func (w *way) open(method, path, accept, body string, compress bool) *http.Response {
	request, err := http.NewRequest(method, w.URL+path, strings.NewReader(body))
	check(err)
	request.Header.Set("Accept", accept)
	if w.Token != "" {
		request.Header.Set("Authorization", "Bearer "+w.Token)
	}
	switch method {
	case http.MethodPatch:
		request.Header.Set("Content-Type", "application/merge-patch+json")
	case http.MethodPost:
		request.Header.Set("Content-Type", "application/json")
	}
	client := w.plain
	if compress {
		client = w.gzip
	}
	response, err := client.Do(request)
	check(err)
	if response.StatusCode >= 300 {
		text, _ := io.ReadAll(response.Body)
		log.Fatalf("%s %s: %d %s", method, path, response.StatusCode, text)
	}
	return response
}

func (w *way) send(method, path, accept, body string, compress bool) []byte {
	response := w.open(method, path, accept, body, compress)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	check(err)
	return text
}

func (w *way) read(path, accept string, compress bool) []byte {
	return w.send(http.MethodGet, path, accept, "", compress)
}

func (w *way) patch(object int, value string) {
	body := fmt.Sprintf(`{"data":{"number":%q}}`, value)
	w.send(http.MethodPatch, configMaps+"/"+nameOf(object), "application/json", body, false)
}

func nameOf(object int) string {
	return fmt.Sprintf("bench-%05d", object)
}

func fill(one *way, count int) {
	atOnce(fillAtOnce, count, func(object int) {
		// What is only repeated would be compressed to nothing.
		value := make([]byte, valueBytes/2)
		_, _ = rand.Read(value)
		body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"value":"%x"}}`, nameOf(object), value)
		one.send(http.MethodPost, configMaps, "application/json", body, false)
	})
}

func atOnce(concurrency, count int, work func(number int)) {
	var (
		next  atomic.Int64
		group sync.WaitGroup
	)
	for range concurrency {
		group.Go(func() {
			for number := int(next.Add(1)) - 1; number < count; number = int(next.Add(1)) - 1 {
				work(number)
			}
		})
	}
	group.Wait()
}

func timed(count int, work func()) {
	for range min(warmUpCalls, count) {
		work()
	}
	times := make([]time.Duration, count)
	for index := range times {
		started := time.Now()
		work()
		times[index] = time.Since(started)
	}
	printJSON(map[string]float64{"p50Ms": medianMs(times)})
}

// write changes as many objects, each of them once.
func write(one *way, concurrency, count int) {
	atOnce(concurrency, warmUpCalls, func(number int) { one.patch(number, fmt.Sprint(time.Now().UnixNano())) })
	started := time.Now()
	atOnce(concurrency, count, func(number int) { one.patch(number, fmt.Sprint(time.Now().UnixNano())) })
	printJSON(map[string]float64{"perSecond": float64(count) / time.Since(started).Seconds()})
}

// watch compares when the same events arrive on two ways.
func watch(direct, other *way, count int) {
	var listed struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	check(json.Unmarshal(direct.read(configMaps+"?limit=1", "application/json", false), &listed))
	path := configMaps + "?watch=true&resourceVersion=" + listed.Metadata.ResourceVersion
	arrivals := []chan time.Time{make(chan time.Time, count), make(chan time.Time, count)}
	for index, one := range []*way{direct, other} {
		response := one.open(http.MethodGet, path, "application/json", "", false)
		defer response.Body.Close()
		go func() {
			reader := bufio.NewReaderSize(response.Body, 64*1024)
			for {
				if _, err := reader.ReadSlice('\n'); err != nil {
					return
				}
				arrivals[index] <- time.Now()
			}
		}()
	}
	var directly, added []time.Duration
	for number := range count + warmUpCalls {
		sent := time.Now()
		go direct.patch(0, fmt.Sprint(sent.UnixNano()))
		first, second := <-arrivals[0], <-arrivals[1]
		if number >= warmUpCalls {
			directly, added = append(directly, first.Sub(sent)), append(added, second.Sub(first))
		}
		time.Sleep(pauseBetween)
	}
	printJSON(map[string]float64{"directMs": medianMs(directly), "addedMs": medianMs(added)})
}

func medianMs(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)/2].Microseconds()) / 1000
}

func printJSON(value any) {
	check(json.NewEncoder(os.Stdout).Encode(value))
}
