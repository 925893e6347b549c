module vestal.test/goprof

go 1.21
