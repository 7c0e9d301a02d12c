// What was done is said once: whoever comes back to the page, or keeps its address, finds only how things are now.

const address = new URL(location.href);
address.searchParams.delete("done");
history.replaceState(history.state, "", address);
