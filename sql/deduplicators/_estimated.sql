-- The estimated Jaccard similarity of each of `pairs`.
SELECT pairs.n, estimate_jaccard(one.signature, other.signature) AS jaccard
FROM pairs
JOIN marks AS one ON one._row = pairs.a
JOIN marks AS other ON other._row = pairs.b
