package klog

// What tests of this package reach.
var (
	EmptyCall     = emptyCall
	LibraryScan   = libraryScan
	LibraryAppend = libraryAppend
)
