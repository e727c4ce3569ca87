# SPDX-License-Identifier: GPL-2.0-or-later
# The part of check-layers.sh that knows files, rooms and arrows. It reads one stream:
#   layers.rooms, layers.known     as they say themselves
#   F FILE                         a source
#   I FILE HEADER, L FILE HEADER   it includes "HEADER", <HEADER>
#   W FROM TO FUNCTION FILE        a picture says that room FROM calls FUNCTION, which is TO's
#   T FILE TIME                    a source, or an object, was written then
#   OBJECT: SYMBOL TYPE ...        nm -A -P -g, of objects whose paths are the sources'
#
# An arrow goes from who includes, or who uses a symbol, to the header's or the defining file. Two
# kinds are wrong: `up', to a room that is not below; `circle', one of those by which files of one
# room use each other in a circle (C files by symbols, headers by includes). Circles over several
# rooms have an arrow up.
#
# Prints a line for each fault, and ends with 1 when there is one; with shrink=1 the lines of
# layers.known that are still true.

function complain(text) {
	if (!shrink)
		print "check-layers: " text
	bad = 1
}

function base_of(path) {
	sub(/^.*\//, "", path)
	return path
}

function stem_of(path) {
	path = base_of(path)
	sub(/\.[a-z]*$/, "", path)
	return path
}

# Where the file belongs: a file of the hall, nodesvc/ itself, in the room that layers.known says.
function place_of(path) {
	if (path ~ /^nodesvc\/[^\/]*$/ && stem_of(path) in hall) {
		used_hall[stem_of(path)] = 1
		return "nodesvc/" hall[stem_of(path)] "/" base_of(path)
	}
	return path
}

function room_of(place,   part) {
	split(place, part, "/")
	return part[1] == "nodesvc" ? part[1] "/" part[2] : part[1]
}

function header_of(place) {
	sub(/\.c$/, ".h", place)
	return place
}

function may_use(room, place,   n, i, prefix) {
	if (room_of(place) == room)
		return 1
	n = split(uses[room], prefix, " ")
	for (i = 1; i <= n; i++) {
		if (prefix[i] == "below" && order[room_of(place)] && order[room_of(place)] < order[room])
			return 1
		if (index(place, prefix[i]) == 1 || index(header_of(place), prefix[i]) == 1)
			return 1
	}
	return 0
}

# key: a line of layers.known without its comment.
function fault(key, text) {
	if (key in known)
		seen[key] = 1
	else
		complain(key ": " text)
}

function is_up(key, ends, why) {
	if (!(key in up))
		up[key] = ends ", which is not below:"
	if (index(up[key] " ", " " why " ") == 0)
		up[key] = up[key] " " why
}

function arrow(from, to, why,   a, b) {
	a = place_of(from)
	b = place_of(to)
	if (a == b)
		return
	if (room_of(a) != room_of(b)) {
		if (!may_use(room_of(a), b))
			is_up(stem_of(a) " " stem_of(b), from " -> " to, why)
	} else if (substr(a, length(a)) == substr(b, length(b)) && b ~ /\.[ch]$/) {
		if (!((a, b) in reason))
			to_of[a] = to_of[a] " " b
		reason[a, b] = reason[a, b] " " why
	}
}

# Tarjan's: files of one circle get the same mark.
function visit(v,   n, i, next_of, w) {
	mark[v] = low[v] = ++n_marks
	stack[++n_stack] = v
	on_stack[v] = 1
	n = split(to_of[v], next_of, " ")
	for (i = 1; i <= n; i++) {
		w = next_of[i]
		if (!(w in mark)) {
			visit(w)
			low[v] = low[w] < low[v] ? low[w] : low[v]
		} else if (on_stack[w]) {
			low[v] = mark[w] < low[v] ? mark[w] : low[v]
		}
	}
	if (low[v] != mark[v])
		return
	do {
		w = stack[n_stack--]
		on_stack[w] = 0
		circle[w] = v
	} while (w != v)
}

/^#/ || NF == 0 { next }
$1 == "room" {
	order[$2] = ++n_rooms
	for (i = 3; i <= NF; i++) {
		uses[$2] = uses[$2] " " $i
		if ($i != "below" && !(room_of($i) in order))
			complain("layers.rooms: " $2 " may not use " $i ", which does not stand above it")
	}
	next
}
$1 == "lib" {
	lib_files[$2] = substr($0, index($0, $3))
	next
}
$1 == "maybe" {
	maybe[$2] = 1
	next
}
$1 == "hall" {
	hall[$2] = $3
	next
}
$1 == "up" || $1 == "circle" {
	known[$1 " " $2 " " $3] = 1
	next
}
$1 == "F" {
	is_source[$2] = 1
	room = room_of(place_of($2))
	if (!(room in order))
		complain($2 ": the room " room " has no line in tests/layers.rooms")
	next
}
$1 == "I" {
	if ($3 == "config.h" || $3 ~ /\.inc$/)
		next
	header = $3
	if (header !~ /\//) {
		header = $2
		sub(/[^\/]*$/, $3, header)
	}
	arrow($2, header, "#include")
	next
}
$1 == "L" {
	for (lib in lib_files) {
		if (index($3, lib) != 1)
			continue
		n = split(lib_files[lib], prefix, " ")
		for (i = 1; i <= n && index($2, prefix[i]) != 1; i++)
			;
		if (i > n)
			complain($2 ": <" $3 "> belongs to " lib_files[lib])
	}
	next
}
$1 == "W" {
	if ($4 != "-")
		walk[$2 " " $3 " " $4] = $5
	next
}
$1 == "T" {
	time_of[$2] = $3
	next
}
# An object: PATH/.libs/LIBRARY_la-NAME.o is of PATH/NAME.c. What is left of a file that has gone,
# moved or changed is not looked at.
{
	object = $1
	sub(/:$/, "", object)
	sub(/\[.*$/, "", object)
	file = object
	sub(/\.libs\//, "", file)
	sub(/\.o$/, ".c", file)
	if (match(file, /[^\/]*-/))
		file = substr(file, 1, RSTART - 1) substr(file, RSTART + RLENGTH)
	if (!(file in is_source) || time_of[object] < time_of[file])
		next
	has_object[file] = 1
	if ($3 == "U")
		wants[file] = wants[file] " " $2
	else if (!(($2, file) in defines)) {
		defines[$2, file] = 1
		definers[$2] = definers[$2] " " file
	}
}

END {
	for (file in has_object) {
		objects++
		n = split(wants[file], symbol, " ")
		for (i = 1; i <= n; i++) {
			# A file is built into several libraries: each symbol once.
			if ((file, symbol[i]) in done)
				continue
			done[file, symbol[i]] = 1
			m = split(definers[symbol[i]], definer, " ")
			for (j = 1; j <= m; j++)
				if (definer[j] != file) {
					arrow(file, definer[j], symbol[i])
					called[base_of(room_of(place_of(file))) " " base_of(room_of(place_of(definer[j]))) " " symbol[i]] = 1
				}
		}
	}
	for (file in is_source) {
		if (!objects || file !~ /\.c$/ || file in has_object)
			continue
		optional = 0
		for (prefix_of in maybe)
			optional = optional || index(file, prefix_of) == 1
		if (!optional) {
			complain(file ": no object of it is there, so its calls are not known: make")
			missing = 1
		}
	}

	for (key in up)
		fault("up " key, up[key])
	for (v in to_of)
		if (!(v in mark))
			visit(v)
	for (pair in reason) {
		split(pair, ends, SUBSEP)
		if (circle[ends[1]] != circle[ends[2]])
			continue
		suffix = ends[1] ~ /\.h$/ ? ".h" : ""
		fault("circle " stem_of(ends[1]) suffix " " stem_of(ends[2]) suffix,
			ends[1] " -> " ends[2] ":" reason[pair])
	}
	for (call in walk)
		if (objects && !(call in called))
			complain(walk[call] ": not so: " call)
	# Without its objects nobody knows which arrows are left.
	if (objects && !missing) {
		for (key in known)
			if (!(key in seen))
				complain(key ": no more so; tests/check-layers.sh --shrink takes it out of layers.known")
	}
	for (stem in hall)
		if (!(stem in used_hall))
			complain("hall " stem ": has left the hall; tests/check-layers.sh --shrink takes it out of layers.known")
	if (shrink) {
		if (!objects || missing) {
			print "check-layers: --shrink needs all objects of a build" >"/dev/stderr"
			exit 2
		}
		while ((getline line <known_file) > 0) {
			n = split(line, word, " ")
			if (word[1] == "hall" && !(word[2] in used_hall))
				continue
			if ((word[1] == "up" || word[1] == "circle") && !(word[1] " " word[2] " " word[3] in seen))
				continue
			# A merge that keeps both sides' lines has some twice.
			if (n && line !~ /^#/ && line in printed)
				continue
			printed[line] = 1
			print line
		}
		exit 0
	}
	exit bad
}
