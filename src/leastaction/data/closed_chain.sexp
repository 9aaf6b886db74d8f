; Johnson and Murphey 2009, Listing 1: the device of Fig. 6, with the closing parenthesis that is missing
; in print at the end of the arm K (without it the arm A would hang on that arm).
(mechanical-system (gravity 0 0 -9.81)
  (ry "J" (Name "J")
    (tz -0.5 (Name "I") (Mass 1))
    (tz -1.0
      (ry "H" (Name "H")
        (tz -1.0 (Name "G") (Mass 1))
        (tz -2.0 (Name "O2")))))
  (tx -1.5
    (ry "K" (Name "K")
      (tz -1.0 (Name "L") (Mass 1))
      (tz -2.0
        (ry "M" (Name "M")
          (tz -0.5 (Name "N") (Mass 1))
          (tz -1.0 (Name "O"))))))
  (tx 1.5
    (ry "A" (Name "A")
      (tz -1.0 (Name "B") (Mass 1))
      (tz -2.0
        (ry "C" (Name "C")
          (tz -0.375 (Name "D") (Mass 1))
          (tz -0.75
            (ry "E" (Name "E")
              (tz -0.5 (Name "F") (Mass 1))
              (tz -1.0 (Name "G2"))))))))
  (point-constraint "G" "G2" (1 0 0))
  (point-constraint "G" "G2" (0 0 1))
  (point-constraint "O" "O2" (1 0 0))
  (point-constraint "O" "O2" (0 0 1)))
