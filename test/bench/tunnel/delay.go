package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

const (
	cloneDevice = "/dev/net/tun"
	// Device 10, 200 in the kernel's list of devices.
	cloneNumber = 10<<8 | 200
	packetBytes = 64 * 1024
	// More than any window of these tests: nothing is ever dropped.
	queuedPackets = 1 << 16
)

// packet is one IP packet and when it comes out at the far end.
type packet struct {
	bytes []byte
	due   time.Time
}

// delayLink creates two connected network devices, and passes on every packet after a fixed time, in order. The caller
// gives them addresses, and may move them to other network namespaces. They disappear when this process ends.
func delayLink(first, second string, oneWay time.Duration) {
	ends := [2]int{device(first), device(second)}
	carry(ends[0], ends[1], oneWay)
	carry(ends[1], ends[0], oneWay)
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// device makes a network device whose packets this process reads and writes.
func device(name string) int {
	if _, err := os.Stat(cloneDevice); os.IsNotExist(err) {
		check(os.MkdirAll(filepath.Dir(cloneDevice), 0o755))
		check(syscall.Mknod(cloneDevice, syscall.S_IFCHR|0o600, cloneNumber))
	}
	file, err := syscall.Open(cloneDevice, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	check(err)
	// struct ifreq: the name, then what kind of device.
	var request [40]byte
	copy(request[:syscall.IFNAMSIZ-1], name)
	*(*uint16)(unsafe.Pointer(&request[syscall.IFNAMSIZ])) = syscall.IFF_TUN | syscall.IFF_NO_PI
	_, _, failed := syscall.Syscall(
		syscall.SYS_IOCTL, uintptr(file), syscall.TUNSETIFF, uintptr(unsafe.Pointer(&request)))
	if failed != 0 {
		check(fmt.Errorf("%s: %w", name, failed))
	}
	return file
}

// carry reads and writes in threads of their own: the runtime's timers are a millisecond off, the kernel's are not.
func carry(from, to int, oneWay time.Duration) {
	queue := make(chan packet, queuedPackets)
	go func() {
		runtime.LockOSThread()
		buffer := make([]byte, packetBytes)
		for {
			size, err := syscall.Read(from, buffer)
			if skip(err) {
				continue
			}
			queue <- packet{append([]byte(nil), buffer[:size]...), time.Now().Add(oneWay)}
		}
	}()
	go func() {
		runtime.LockOSThread()
		for next := range queue {
			pause(time.Until(next.due))
			_, err := syscall.Write(to, next.bytes)
			skip(err)
		}
	}()
}

func pause(length time.Duration) {
	if length <= 0 {
		return
	}
	left := syscall.NsecToTimespec(length.Nanoseconds())
	for syscall.Nanosleep(&left, &left) == syscall.EINTR {
	}
}

// skip reports whether a packet may be lost: because of a signal, or because a device is not up yet.
func skip(err error) bool {
	switch err {
	case nil:
		return false
	case syscall.EINTR, syscall.EIO:
		return true
	case syscall.EBADFD:
		time.Sleep(time.Millisecond)
		return true
	}
	check(err)
	return false
}
