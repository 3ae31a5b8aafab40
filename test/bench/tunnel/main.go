// Command tunnel-bench is both ends of the load for test/bench/tunnel.ts, relay.ts, gateway.ts and api.ts, so that what is between them is measured.
//
//	tunnel-bench serve ADDR [TLS BULK]      prints the ports of a TLS and a bulk server there, serves until stdin ends
//	tunnel-bench load new|keep ADDR C SEC   C connections at once: 2 KB there, 1 KB back; "keep" keeps them, "new" makes new ones
//	tunnel-bench bulk up|down ADDR MB       one connection, one direction
//	tunnel-bench connections ADDR C COUNT   that many connections to the bulk server, C at once, 1 KB back on each
//	tunnel-bench reviews serve PORT CERT KEY          answers each review with a patch, over TLS; prints a line when it listens
//	tunnel-bench reviews load new|keep PORT C MS      C connections at once with reviews to 127.0.0.1
//	tunnel-bench reviews paced PORT C PAUSE_MS MS     C kept connections, each of which pauses after an answer
//	tunnel-bench api fill WAYS COUNT                  creates that many ConfigMaps; WAYS is a file with the ways to the API server
//	tunnel-bench api get WAYS WAY COUNT               reads one of them, again and again
//	tunnel-bench api list WAYS WAY TYPE gzip|plain COUNT   lists all of them
//	tunnel-bench api write WAYS WAY C COUNT           changes as many of them, C at once
//	tunnel-bench api watch WAYS WAY COUNT             changes one, and watches directly and on that way
//	tunnel-bench delay DEV DEV MICROSECONDS joins two new network devices by a link that takes that long one way
package main

import (
	"bufio"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
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
	chunkBytes    = 64 * 1024
	// kube-apiserver's transport hands a new connection over to other goroutines before the request goes out.
	handOver = 200 * time.Microsecond
)

func main() {
	log.SetFlags(0)
	switch args := os.Args[1:]; args[0] {
	case "serve":
		serve(args[1], append(args[2:], "0", "0"))
	case "load":
		load(args[1] == "keep", args[2], number(args[3]), time.Duration(number(args[4]))*time.Millisecond)
	case "bulk":
		bulk(args[1] == "up", args[2], int64(number(args[3]))*1_000_000)
	case "connections":
		connections(args[1], number(args[2]), int64(number(args[3])))
	case "reviews":
		reviews(args[1:])
	case "api":
		api(args[1:])
	case "delay":
		delayLink(args[1], args[2], time.Duration(number(args[3]))*time.Microsecond)
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

func serve(address string, ports []string) {
	secure, err := tls.Listen("tcp", net.JoinHostPort(address, ports[0]), &tls.Config{Certificates: []tls.Certificate{certificate()}})
	check(err)
	plain, err := net.Listen("tcp", net.JoinHostPort(address, ports[1]))
	check(err)
	go accept(secure, answer)
	go accept(plain, answerBulk)
	fmt.Println(secure.Addr().(*net.TCPAddr).Port, plain.Addr().(*net.TCPAddr).Port)
	// Whoever started us holds the other end.
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func accept(listener net.Listener, handle func(net.Conn)) {
	for {
		connection, err := listener.Accept()
		check(err)
		go handle(connection)
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

// answerBulk reads how many bytes to send back, sends them, and otherwise swallows all and confirms the end.
func answerBulk(connection net.Conn) {
	defer connection.Close()
	var wanted int64
	if err := binary.Read(connection, binary.BigEndian, &wanted); err != nil {
		return
	}
	if wanted > 0 {
		send(connection, wanted)
		return
	}
	_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{connection}, make([]byte, chunkBytes))
	_, _ = connection.Write([]byte{1})
}

func send(connection net.Conn, count int64) {
	chunk := make([]byte, chunkBytes)
	for count > 0 {
		size := min(count, chunkBytes)
		if _, err := connection.Write(chunk[:size]); err != nil {
			return
		}
		count -= size
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
	SlowestMs float64 `json:"slowestMs"`
	PerSecond float64 `json:"perSecond"`
	// Requests that took 38 to 48 ms: those that waited for a delayed acknowledgement.
	Delayed int `json:"delayed"`
	Asked   int `json:"asked"`
	Failed  int `json:"failed"`
}

func load(keep bool, address string, concurrency int, duration time.Duration) {
	var (
		mutex  sync.Mutex
		times  []time.Duration
		failed int
		group  sync.WaitGroup
	)
	// Kept connections are made, all of them, before the clock starts.
	connections := make([]net.Conn, concurrency)
	if keep {
		for index := range connections {
			group.Go(func() {
				var err error
				connections[index], err = dial(address)
				check(err)
			})
		}
		group.Wait()
	}
	started := time.Now()
	for _, connection := range connections {
		group.Go(func() {
			own, lost := worker(connection, address, started.Add(duration))
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
	delayed := 0
	for _, one := range times {
		if one >= 38*time.Millisecond && one <= 48*time.Millisecond {
			delayed++
		}
	}
	check(json.NewEncoder(os.Stdout).Encode(result{
		P50Ms:     ms(times[len(times)/2]),
		P99Ms:     ms(times[len(times)*99/100]),
		SlowestMs: ms(times[len(times)-1]),
		PerSecond: float64(len(times)) / elapsed.Seconds(),
		Delayed:   delayed,
		Asked:     len(times) + failed,
		Failed:    failed,
	}))
}

func dial(address string) (net.Conn, error) {
	return tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
}

// worker sends requests over the given connection; if there is none, over a new connection each.
func worker(kept net.Conn, address string, until time.Time) (times []time.Duration, failed int) {
	for time.Now().Before(until) {
		started := time.Now()
		if err := askOnce(kept, address); err != nil {
			failed++
			if kept != nil {
				return times, failed
			}
		} else {
			times = append(times, time.Since(started))
		}
	}
	return times, failed
}

func askOnce(kept net.Conn, address string) error {
	if kept != nil {
		return ask(kept)
	}
	connection, err := dial(address)
	if err != nil {
		return err
	}
	defer connection.Close()
	time.Sleep(handOver)
	return ask(connection)
}

func ask(connection net.Conn) error {
	if _, err := connection.Write(make([]byte, requestBytes)); err != nil {
		return err
	}
	_, err := io.ReadFull(bufio.NewReaderSize(connection, responseBytes), make([]byte, responseBytes))
	return err
}

func bulk(up bool, address string, count int64) {
	connection, err := net.Dial("tcp", address)
	check(err)
	started := time.Now()
	wanted := count
	if up {
		wanted = 0
	}
	check(binary.Write(connection, binary.BigEndian, wanted))
	if up {
		send(connection, count)
		check(connection.(*net.TCPConn).CloseWrite())
		_, err = io.ReadFull(connection, make([]byte, 1))
	} else {
		_, err = io.CopyN(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{connection}, count)
	}
	check(err)
	fmt.Println(float64(count) / 1e6 / time.Since(started).Seconds())
}

func connections(address string, concurrency int, count int64) {
	var (
		begun, failed atomic.Int64
		group         sync.WaitGroup
	)
	started := time.Now()
	for range concurrency {
		group.Go(func() {
			for begun.Add(1) <= count {
				if err := connectOnce(address); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	group.Wait()
	check(json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"perSecond": float64(count) / time.Since(started).Seconds(),
		"failed":    float64(failed.Load()),
	}))
}

func connectOnce(address string) error {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := binary.Write(connection, binary.BigEndian, int64(responseBytes)); err != nil {
		return err
	}
	_, err = io.ReadFull(connection, make([]byte, responseBytes))
	return err
}
