module vestal.test/goscrape

go 1.21
