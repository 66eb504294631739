module github.com/uahive/uahive/test/interop/gopcua

go 1.26.0

require github.com/gopcua/opcua v0.8.0
