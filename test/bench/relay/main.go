// Command relay-bench is both ends of the load for test/bench/relay.ts, so that the way between them is what is measured.
//
//	relay-bench serve [TLS PLAIN]          prints the ports of a TLS and a plain server on 127.0.0.1, serves until stdin ends
//	relay-bench load new|keep ADDR C MS    C connections at once: 2 KB there, 1 KB back; "keep" keeps them, "new" makes new ones
//	relay-bench connections ADDR C COUNT   that many plain connections, one question and answer each, C at once
package main

import (
	"bufio"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	requestBytes  = 2048
	responseBytes = 1024
	// kube-apiserver's transport hands a new connection over to other goroutines before the request goes out.
	handOver = 200 * time.Microsecond
)

func main() {
	log.SetFlags(0)
	switch args := os.Args[1:]; args[0] {
	case "serve":
		serve(args[1:])
	case "load":
		load(args[1] == "keep", args[2], number(args[3]), time.Duration(number(args[4]))*time.Millisecond)
	case "connections":
		connections(args[1], number(args[2]), number(args[3]))
	default:
		log.Fatalf("unknown command %q", args[0])
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func serve(ports []string) {
	if len(ports) == 0 {
		ports = []string{"0", "0"}
	}
	secure, err := tls.Listen("tcp", "127.0.0.1:"+ports[0], &tls.Config{Certificates: []tls.Certificate{certificate()}})
	check(err)
	plain, err := net.Listen("tcp", "127.0.0.1:"+ports[1])
	check(err)
	go accept(secure)
	go accept(plain)
	fmt.Println(secure.Addr().(*net.TCPAddr).Port, plain.Addr().(*net.TCPAddr).Port)
	// Whoever started us holds the other end.
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func accept(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		check(err)
		go answer(connection)
	}
}

func answer(connection net.Conn) {
	defer connection.Close()
	request, response := make([]byte, requestBytes), make([]byte, responseBytes)
	for {
		if _, err := io.ReadFull(connection, request); err != nil {
			return
		}
		if _, err := connection.Write(response); err != nil {
			return
		}
	}
}

// RSA-2048 is cert-manager's default.
func certificate() tls.Certificate {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	check(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	check(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

type result struct {
	P50Ms     float64 `json:"p50Ms"`
	P99Ms     float64 `json:"p99Ms"`
	PerSecond float64 `json:"perSecond"`
	SlowestMs float64 `json:"slowestMs"`
	Asked     int     `json:"asked"`
	Failed    int     `json:"failed"`
}

func load(keep bool, address string, concurrency int, duration time.Duration) {
	var (
		mutex  sync.Mutex
		times  []time.Duration
		failed int
		group  sync.WaitGroup
	)
	started := time.Now()
	for range concurrency {
		group.Go(func() {
			own, lost := worker(keep, address, started.Add(duration))
			mutex.Lock()
			defer mutex.Unlock()
			times = append(times, own...)
			failed += lost
		})
	}
	group.Wait()
	elapsed := time.Since(started)
	if len(times) == 0 {
		log.Fatalf("no request of %d succeeded", failed)
	}
	slices.Sort(times)
	ms := func(one time.Duration) float64 { return float64(one.Microseconds()) / 1000 }
	check(json.NewEncoder(os.Stdout).Encode(result{
		P50Ms:     ms(times[len(times)/2]),
		P99Ms:     ms(times[len(times)*99/100]),
		PerSecond: float64(len(times)) / elapsed.Seconds(),
		SlowestMs: ms(times[len(times)-1]),
		Asked:     len(times) + failed,
		Failed:    failed,
	}))
}

func worker(keep bool, address string, until time.Time) (times []time.Duration, failed int) {
	var connection net.Conn
	for first := true; time.Now().Before(until); first = false {
		started := time.Now()
		if connection == nil {
			var err error
			connection, err = tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				log.Print(err)
				failed++
				continue
			}
			time.Sleep(handOver)
		}
		err := ask(connection)
		if err != nil {
			log.Print(err)
			failed++
		} else if !keep || !first {
			times = append(times, time.Since(started))
		}
		if !keep || err != nil {
			connection.Close()
			connection = nil
		}
	}
	return times, failed
}

func ask(connection net.Conn) error {
	if _, err := connection.Write(make([]byte, requestBytes)); err != nil {
		return err
	}
	_, err := io.ReadFull(bufio.NewReaderSize(connection, responseBytes), make([]byte, responseBytes))
	return err
}

func connections(address string, concurrency, count int) {
	var (
		group  sync.WaitGroup
		failed atomic.Int64
		left   atomic.Int64
	)
	left.Store(int64(count))
	started := time.Now()
	for range concurrency {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if err := once(address); err != nil {
					failed.Add(1)
					log.Print(err)
				}
			}
		})
	}
	group.Wait()
	check(json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"failed":    float64(failed.Load()),
		"perSecond": float64(count) / time.Since(started).Seconds(),
	}))
}

func once(address string) error {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer connection.Close()
	return ask(connection)
}
