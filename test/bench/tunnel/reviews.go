package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	serverName = "webhook.default.svc"
	// Of the answer of a mutating webhook; a review of a small object has requestBytes.
	patchBytes = 640
)

// reviews is both ends of the load for ../gateway.ts, so that the proxy between them is what is measured.
func reviews(args []string) {
	switch args[0] {
	case "serve":
		serveReviews(args[1], args[2], args[3])
	case "load":
		loadReviews(args[1] == "keep", args[2], number(args[3]), 0, number(args[4]))
	case "paced":
		loadReviews(true, args[1], number(args[2]), number(args[3]), number(args[4]))
	default:
		log.Fatalf("unknown command reviews %q", args[0])
	}
}

func serveReviews(port, certificate, key string) {
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	check(err)
	answer := []byte(fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u","allowed":true,"patchType":"JSONPatch","patch":%q}}`,
		strings.Repeat("W10=", patchBytes/4)))
	handler := http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		response.Header().Set("Content-Type", "application/json")
		_, _ = response.Write(answer)
	})
	fmt.Println("listening")
	check(http.ServeTLS(listener, handler, certificate, key))
}

func loadReviews(keep bool, port string, concurrency, pauseMs, ms int) {
	var (
		mutex  sync.Mutex
		times  []time.Duration
		failed []string
		group  sync.WaitGroup
	)
	until := time.Now().Add(time.Duration(ms) * time.Millisecond)
	started := time.Now()
	for range concurrency {
		group.Go(func() {
			asker := &reviewer{address: "127.0.0.1:" + port, keep: keep}
			defer asker.close()
			for time.Now().Before(until) {
				asked := time.Now()
				err := asker.ask()
				taken := time.Since(asked)
				mutex.Lock()
				if err != nil {
					failed = append(failed, err.Error())
				} else {
					times = append(times, taken)
				}
				mutex.Unlock()
				time.Sleep(time.Duration(pauseMs) * time.Millisecond)
			}
		})
	}
	group.Wait()
	if len(times) == 0 {
		log.Fatalf("no review was answered: %v", failed)
	}
	slices.Sort(times)
	msOf := func(one time.Duration) float64 { return float64(one.Microseconds()) / 1000 }
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"p50Ms":     msOf(times[len(times)/2]),
		"slowestMs": msOf(times[len(times)-1]),
		"perSecond": float64(len(times)) / time.Since(started).Seconds(),
		"answered":  len(times),
		"failed":    len(failed),
		"causes":    slices.Compact(failed[:min(len(failed), 3)]),
	}))
}

type reviewer struct {
	address    string
	keep       bool
	connection *tls.Conn
	reader     *bufio.Reader
}

func (c *reviewer) close() {
	if c.connection != nil {
		_ = c.connection.Close()
		c.connection = nil
	}
}

// ask sends one review, as kube-apiserver does: over HTTP/1.1, and over a connection that is open if there is one.
func (c *reviewer) ask() error {
	if c.connection == nil {
		connection, err := tls.Dial("tcp", c.address, &tls.Config{InsecureSkipVerify: true, ServerName: serverName})
		if err != nil {
			return err
		}
		c.connection, c.reader = connection, bufio.NewReader(connection)
	}
	err := c.exchange()
	if err != nil || !c.keep {
		c.close()
	}
	return err
}

func (c *reviewer) exchange() error {
	if _, err := c.connection.Write(review); err != nil {
		return err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", response.StatusCode, body)
	}
	return err
}

var review = func() []byte {
	head := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE","kind":{"kind":"Widget"},"object":{"metadata":{"name":"x","annotations":{"a":"`
	tail := `"}}}}}`
	body := head + strings.Repeat("x", requestBytes-len(head)-len(tail)) + tail
	var bytes bytes.Buffer
	fmt.Fprintf(&bytes, "POST /review?timeout=10s HTTP/1.1\r\nHost: %s:443\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", serverName, len(body), body)
	return bytes.Bytes()
}()
